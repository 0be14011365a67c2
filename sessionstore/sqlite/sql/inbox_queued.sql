SELECT pos, received_at, epoch, due, body FROM inbox
WHERE tenant = ? AND session = ? AND status = 'queued'
ORDER BY rank, pos LIMIT ?
