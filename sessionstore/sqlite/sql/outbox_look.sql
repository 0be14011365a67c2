UPDATE outbox SET claim = ?, claim_until = ? WHERE pos = ?
