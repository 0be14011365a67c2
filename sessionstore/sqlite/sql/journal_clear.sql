DELETE FROM journal WHERE tenant = ? AND session = ?
