INSERT INTO received (tenant, source, event_id, session, body_hash, at)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
