INSERT INTO inbox (tenant, session, source, event_id, epoch, kind, rank, status, due, received_at, reason, body)
VALUES (?1, ?2, ?3, ?4, coalesce((SELECT epoch FROM session WHERE tenant = ?1 AND session = ?2), 0),
    ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT DO NOTHING
