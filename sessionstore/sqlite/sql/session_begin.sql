INSERT INTO session (tenant, session, agent, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?4)
ON CONFLICT (tenant, session) DO NOTHING
