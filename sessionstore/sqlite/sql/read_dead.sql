SELECT dead_id, tenant, session, source, event_id, pos, reason, raw, at, state FROM dead
WHERE ?1 IS NULL OR tenant = ?1 ORDER BY at DESC LIMIT ?2
