INSERT INTO journal (tenant, session, turn_id, members, agent_version, at)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, session) DO UPDATE SET
    turn_id = excluded.turn_id, members = excluded.members, agent_version = excluded.agent_version, at = excluded.at
