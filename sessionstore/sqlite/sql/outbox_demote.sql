UPDATE outbox SET head = 0
WHERE tenant = ? AND session = ? AND lane = ? AND blocks = 1 AND state IN ('pending', 'retry')
