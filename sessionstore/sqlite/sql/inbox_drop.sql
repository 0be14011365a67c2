UPDATE inbox SET status = 'dropped', reason = ?, settled_at = ? WHERE pos = ?
