UPDATE outbox SET state = 'sending', attempts = attempts + 1, due = NULL, sent_at = ?
WHERE pos = ? AND claim = ? AND state IN ('pending', 'retry')
