SELECT key, args_hash, result FROM step WHERE tenant = ? AND session = ? AND turn_id = ?
