SELECT CASE WHEN status = 'dropped' THEN 'dropped' ELSE status END, count(*) FROM inbox
WHERE (?1 IS NULL OR tenant = ?1) AND (?2 IS NULL OR received_at >= ?2) AND (?3 IS NULL OR received_at < ?3)
GROUP BY 1
