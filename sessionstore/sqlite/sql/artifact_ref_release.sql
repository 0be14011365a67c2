DELETE FROM artifact_ref
WHERE tenant = ?1 AND session = ?2 AND seq < ?3 AND digest NOT IN (SELECT value FROM json_each(?4))
