SELECT body FROM record WHERE tenant = ? AND session = ?
