UPDATE session SET lease_until = ?4
WHERE tenant = ?1 AND session = ?2 AND owner = ?3 AND lease_until >= ?5
