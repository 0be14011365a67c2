UPDATE session SET attempt = 0 WHERE tenant = ? AND session = ?
