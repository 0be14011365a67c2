SELECT pos, tenant, session FROM outbox
WHERE claim IS NOT NULL AND claim_until < ? AND state = 'sending'
LIMIT ?
