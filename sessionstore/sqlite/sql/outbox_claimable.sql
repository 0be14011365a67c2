SELECT pos, binds IS NOT NULL FROM outbox
WHERE head = 1 AND due IS NOT NULL AND due <= ?1 AND state IN ('pending', 'retry')
ORDER BY due LIMIT ?2
