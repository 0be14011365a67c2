UPDATE inbox SET status = ?, settled_at = ?, turn_id = ?, reason = ?, body = NULL
WHERE pos = ? AND status = 'queued'
