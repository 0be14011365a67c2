UPDATE session SET due = ?3 WHERE tenant = ?1 AND session = ?2
