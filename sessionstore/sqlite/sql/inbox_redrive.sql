UPDATE inbox SET status = 'queued', body = ?, due = ?, reason = NULL, settled_at = NULL, turn_id = NULL
WHERE pos = ? AND status = 'dead'
