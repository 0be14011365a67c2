-- One step takes the lease and loads the head; prior_owner tells whether somebody died holding it.
UPDATE session SET fence = fence + 1, prior_owner = owner, owner = ?3, owner_name = ?4, lease_until = ?5
WHERE tenant = ?1 AND session = ?2 AND (owner IS NULL OR lease_until < ?6)
RETURNING agent, status, epoch, version, seq, fence, tail, run_id, last_turn, attempt, attempt_pos, reply_route,
    turns, tokens, cost, seconds, created_at, updated_at, prior_owner
