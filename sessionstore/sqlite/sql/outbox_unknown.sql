SELECT pos FROM outbox
WHERE state = 'unknown' AND due IS NOT NULL AND due <= ?1 AND (claim IS NULL OR claim_until < ?1)
    AND instr(?2, ',' || adapter || ',') > 0
ORDER BY due, pos LIMIT ?3
