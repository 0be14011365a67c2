UPDATE outbox SET state = ?3, due = ?4, receipt = ?5, result = ?6, error = ?7, settled_at = ?8, blocks = ?9,
    head = CASE WHEN ?9 = 1 THEN head ELSE 0 END, possible_duplicate = max(possible_duplicate, ?10),
    unclear = max(unclear, ?11),
    checks = CASE WHEN ?3 = 'unknown' THEN checks + 1 ELSE 0 END, claim = NULL, claim_until = NULL
WHERE pos = ?1 AND claim = ?2
RETURNING tenant, session, lane, unwanted
