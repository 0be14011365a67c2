SELECT session, body_hash FROM received WHERE tenant = ? AND source = ? AND event_id = ?
