UPDATE outbox SET claim_until = 0, due = CASE WHEN state = 'sending' THEN due ELSE 0 END
WHERE claim IS NOT NULL
