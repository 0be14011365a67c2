DELETE FROM step WHERE tenant = ? AND session = ?
