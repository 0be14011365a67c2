SELECT run_id FROM session WHERE tenant = ? AND session = ?
