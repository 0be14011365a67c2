UPDATE outbox SET state = 'retry', due = ?, blocks = 1, head = 0, attempts = 0, checks = 0, unwanted = 0, absorbed = 0,
    possible_duplicate = max(possible_duplicate, state = 'unknown', unclear), unclear = max(unclear, state = 'unknown'), settled_at = NULL, claim = NULL, claim_until = NULL,
    expires_at = NULL
WHERE effect_id = ? AND state IN ('failed', 'expired', 'unknown')
RETURNING tenant, session, lane
