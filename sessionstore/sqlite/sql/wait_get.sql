SELECT wait_id, tenant, session, agent, epoch, turn_id, kind, then_name, question, options, binds, data, priority, route,
    due, status, answer, answered_by, note, asked_at, ended_at
FROM wait WHERE wait_id = ?
