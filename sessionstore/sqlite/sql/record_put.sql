INSERT INTO record (tenant, session, seq, body, checksum)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant, session) DO UPDATE SET
    seq = excluded.seq, body = excluded.body, checksum = excluded.checksum
