INSERT INTO checkpoint (tenant, session, seq, epoch, turn_id, at, body, checksum)
SELECT ?1, ?2, seq, 0, turn_id, at, body, checksum FROM checkpoint
WHERE tenant = ?1 AND session = ?3 AND seq <= ?4
