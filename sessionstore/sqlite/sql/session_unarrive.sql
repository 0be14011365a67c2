UPDATE session SET tail = prior_tail, due = NULL WHERE tenant = ? AND session = ?
