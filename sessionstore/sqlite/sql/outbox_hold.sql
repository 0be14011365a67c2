UPDATE outbox SET claim = ?, claim_until = ?, due = ? WHERE pos = ?
