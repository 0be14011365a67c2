UPDATE outbox SET claim = NULL, claim_until = NULL
WHERE claim IS NOT NULL AND claim_until < ? AND state <> 'sending'
