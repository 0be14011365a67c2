SELECT seq FROM session WHERE tenant = ? AND session = ?
