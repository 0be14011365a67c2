SELECT lease_until FROM session WHERE tenant = ? AND session = ?
