SELECT status FROM session WHERE tenant = ? AND session = ?
