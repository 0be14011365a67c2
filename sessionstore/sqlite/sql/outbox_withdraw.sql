-- A retry may have been done by an earlier attempt, which nobody can rule out: then it is unknown, and looked at.
UPDATE outbox SET
    unwanted = 1,
    state = CASE
        WHEN state = 'pending' OR (state = 'retry' AND unclear = 0) THEN 'cancelled'
        WHEN state = 'retry' THEN 'unknown'
        ELSE state
    END,
    blocks = CASE WHEN state = 'pending' OR (state = 'retry' AND unclear = 0) THEN 0 ELSE blocks END,
    head = CASE WHEN state = 'pending' OR (state = 'retry' AND unclear = 0) THEN 0 ELSE head END,
    due = CASE
        WHEN state = 'pending' OR (state = 'retry' AND unclear = 0) THEN NULL
        WHEN state IN ('retry', 'unknown') THEN 0
        ELSE due
    END,
    settled_at = CASE WHEN state = 'pending' OR (state = 'retry' AND unclear = 0) THEN ?1 ELSE settled_at END,
    claim = CASE WHEN state IN ('pending', 'retry') THEN NULL ELSE claim END,
    claim_until = CASE WHEN state IN ('pending', 'retry') THEN NULL ELSE claim_until END
WHERE effect_id = ?2
RETURNING state, lane
