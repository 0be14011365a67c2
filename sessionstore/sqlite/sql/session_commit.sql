UPDATE session SET
    version = ?3, seq = ?4, status = ?5, run_id = ?6, last_turn = ?7, due = ?8, lease_until = ?9,
    reply_route = ?10, turns = ?11, tokens = ?12, cost = ?13, seconds = ?14, updated_at = ?15,
    attempt = 0, attempt_pos = 0, attempt_error = ''
WHERE tenant = ?1 AND session = ?2
