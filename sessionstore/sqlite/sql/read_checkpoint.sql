SELECT seq, body, checksum FROM checkpoint
WHERE tenant = ? AND session = ? AND seq <= ? ORDER BY seq DESC LIMIT 1
