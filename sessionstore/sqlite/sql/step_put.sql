INSERT INTO step (tenant, session, turn_id, key, args_hash, result, at)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, session, turn_id, key) DO UPDATE SET
    args_hash = excluded.args_hash, result = excluded.result, at = excluded.at
