UPDATE inbox SET status = 'dropped', reason = ?, settled_at = ?
WHERE tenant = ? AND session = ? AND status = 'queued'
