UPDATE outbox SET absorbed = 1 WHERE pos = ?
