INSERT INTO transcript (tenant, session, seq, epoch, type, at, turn_id, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
