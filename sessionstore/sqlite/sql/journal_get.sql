SELECT turn_id, members, agent_version FROM journal WHERE tenant = ? AND session = ?
