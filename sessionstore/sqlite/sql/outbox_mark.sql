UPDATE outbox SET state = 'sending', attempts = attempts + 1, due = NULL, sent_at = ?
WHERE pos = ? AND claim = ? AND head = 1 AND state IN ('pending', 'retry')
