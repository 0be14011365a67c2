SELECT state FROM outbox
WHERE tenant = ? AND session = ? AND effect_id = ? AND state IN ('pending', 'retry', 'sending', 'unknown')
