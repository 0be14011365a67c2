SELECT pos, received_at, epoch, body FROM inbox
WHERE tenant = ? AND session = ? AND status = 'queued'
ORDER BY rank, pos LIMIT ?
