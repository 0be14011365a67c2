SELECT 1 FROM outbox WHERE tenant = ? AND session = ? AND lane = ? AND blocks = 1 LIMIT 1
