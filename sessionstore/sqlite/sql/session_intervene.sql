-- The fence is raised and the lease taken away: a turn under way cannot commit any more.
UPDATE session SET
    version = version + 1, seq = ?3, status = ?4, run_id = ?5, epoch = ?6, person = ?7, last_op = ?8, reply_route = ?9,
    fence = fence + 1, owner = NULL, owner_name = NULL, lease_until = NULL, prior_owner = NULL,
    attempt = 0, attempt_pos = 0, attempt_error = '', updated_at = ?10
WHERE tenant = ?1 AND session = ?2
