SELECT seq, body, checksum FROM record WHERE tenant = ? AND session = ?
