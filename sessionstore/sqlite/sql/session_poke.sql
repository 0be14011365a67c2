UPDATE session SET due = min(coalesce(due, ?3), ?3) WHERE tenant = ?1 AND session = ?2
