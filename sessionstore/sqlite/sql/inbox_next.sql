SELECT pos, due FROM inbox
WHERE tenant = ?1 AND session = ?2 AND status = 'queued' AND (rank < 2 OR ?3 = '')
ORDER BY rank, pos LIMIT 1
