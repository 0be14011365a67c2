INSERT INTO dead (dead_id, tenant, session, source, event_id, pos, reason, raw, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (dead_id) DO UPDATE SET reason = excluded.reason, at = excluded.at, state = 'dead'
