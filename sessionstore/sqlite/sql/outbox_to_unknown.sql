UPDATE outbox SET state = 'unknown', claim = NULL, claim_until = NULL, due = ?, error = 'its sender stopped'
WHERE pos = ?
