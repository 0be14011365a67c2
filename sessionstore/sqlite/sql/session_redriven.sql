UPDATE session SET prior_tail = tail, tail = ?3, due = ?4 WHERE tenant = ?1 AND session = ?2
