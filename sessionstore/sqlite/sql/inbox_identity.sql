SELECT source, event_id, body FROM inbox WHERE pos = ?
