SELECT pos, kind, rank, due, received_at, body FROM inbox
WHERE tenant = ? AND session = ? AND status = 'queued' ORDER BY rank, pos LIMIT ?
