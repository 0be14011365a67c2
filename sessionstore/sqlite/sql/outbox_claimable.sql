SELECT pos, binds IS NOT NULL OR coalesce(expires_at <= ?1, 0) FROM outbox
WHERE head = 1 AND unwanted = 0 AND due IS NOT NULL AND due <= ?1 AND state IN ('pending', 'retry')
    AND instr(?2, ',' || adapter || ',') > 0
ORDER BY due, pos LIMIT ?3
