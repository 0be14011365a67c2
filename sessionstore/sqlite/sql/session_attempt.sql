UPDATE session
SET attempt = CASE WHEN attempt_pos = ?5 THEN attempt + 1 ELSE 1 END, attempt_pos = ?5, attempt_error = ?6
WHERE tenant = ?1 AND session = ?2 AND owner = ?3 AND fence = ?4
RETURNING attempt
