INSERT INTO transcript (tenant, session, seq, epoch, type, schema, at, turn_id, body)
SELECT ?1, ?2, seq, 0, type, schema, at, turn_id, body FROM transcript
WHERE tenant = ?1 AND session = ?3 AND seq <= ?4
