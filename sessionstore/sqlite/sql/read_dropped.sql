SELECT tenant, session, source, event_id, reason, received_at, body FROM inbox
WHERE status = 'dropped' AND (?1 IS NULL OR tenant = ?1) AND (?2 = '' OR event_id = ?2)
ORDER BY received_at DESC LIMIT ?3
