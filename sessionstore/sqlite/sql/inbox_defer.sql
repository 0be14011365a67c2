UPDATE inbox SET due = ? WHERE pos = ? AND status = 'queued'
