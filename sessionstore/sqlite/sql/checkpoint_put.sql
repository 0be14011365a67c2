INSERT INTO checkpoint (tenant, session, seq, epoch, turn_id, at, body, checksum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
