SELECT 1 FROM inbox
WHERE tenant = ? AND session = ? AND source = ? AND status = 'queued' LIMIT 1
