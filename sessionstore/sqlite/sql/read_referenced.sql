SELECT DISTINCT digest FROM artifact_ref WHERE digest IN (SELECT value FROM json_each(?))
