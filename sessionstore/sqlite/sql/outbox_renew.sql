UPDATE outbox SET claim_until = ? WHERE pos = ? AND claim = ? AND claim_until >= ?
