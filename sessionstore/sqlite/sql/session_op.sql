SELECT last_op, version, seq, agent, lease_until FROM session WHERE tenant = ? AND session = ?
