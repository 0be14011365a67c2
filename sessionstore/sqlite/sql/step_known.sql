SELECT 1 FROM step WHERE tenant = ? AND session = ? AND turn_id = ? AND key = ?
