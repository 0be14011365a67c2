UPDATE inbox SET due = 0 WHERE tenant = ? AND session = ? AND status = 'queued'
