SELECT person FROM session WHERE tenant = ? AND session = ?
