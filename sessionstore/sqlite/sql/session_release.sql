UPDATE session SET owner = NULL, owner_name = NULL, lease_until = NULL
WHERE tenant = ? AND session = ? AND owner = ?
