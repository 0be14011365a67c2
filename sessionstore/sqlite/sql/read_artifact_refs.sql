SELECT digest, seq FROM artifact_ref WHERE tenant = ? AND session = ? ORDER BY seq, digest LIMIT ?
