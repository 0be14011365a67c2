SELECT pos, effect_id, state, receipt, error FROM outbox
WHERE tenant = ? AND session = ? AND absorbed = 0
    AND state IN ('delivered', 'failed', 'expired', 'cancelled')
ORDER BY pos LIMIT ?
