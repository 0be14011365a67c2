SELECT pos, status FROM inbox WHERE tenant = ? AND session = ? AND source = ? AND event_id = ?
