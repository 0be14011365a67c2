SELECT state, count(*) FROM outbox
WHERE (?1 IS NULL OR tenant = ?1) AND (?2 IS NULL OR created_at >= ?2) AND (?3 IS NULL OR created_at < ?3)
GROUP BY 1
