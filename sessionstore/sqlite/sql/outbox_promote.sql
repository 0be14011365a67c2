UPDATE outbox SET head = 1
WHERE pos = (SELECT min(pos) FROM outbox WHERE tenant = ? AND session = ? AND lane = ? AND blocks = 1)
