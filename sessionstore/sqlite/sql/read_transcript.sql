SELECT seq, epoch, type, at, turn_id, body FROM transcript
WHERE tenant = ? AND session = ? AND seq > ? ORDER BY seq LIMIT ?
