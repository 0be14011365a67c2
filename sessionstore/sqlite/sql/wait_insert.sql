INSERT INTO wait (wait_id, tenant, session, agent, epoch, turn_id, kind, then_name, question, options, binds, data,
    priority, route, due, asked_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
