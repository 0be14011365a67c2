UPDATE outbox SET claim = ?, claim_until = ? WHERE effect_id = ? AND state = 'unknown' RETURNING pos
