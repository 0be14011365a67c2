SELECT session FROM session
WHERE tenant = ?1 AND due IS NOT NULL AND due <= ?2 AND status <> 'paused'
    AND (owner IS NULL OR lease_until < ?2)
    AND instr(?3, ',' || agent || ',') > 0
ORDER BY due, updated_at LIMIT ?4
