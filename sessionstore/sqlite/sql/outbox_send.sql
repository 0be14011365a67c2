UPDATE outbox SET state = 'sending', attempts = attempts + 1, due = NULL, claim = ?, claim_until = ?, sent_at = ?
WHERE pos = ?
