INSERT OR IGNORE INTO artifact_ref (tenant, session, digest, seq) VALUES (?, ?, ?, ?)
