-- The head's due time is that of its first runnable row: behind an open run the rest is held back.
INSERT INTO session (tenant, session, agent, tail, due, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
ON CONFLICT (tenant, session) DO UPDATE SET
    prior_tail = tail,
    tail = excluded.tail,
    due = CASE
        WHEN ?7 < 2 THEN min(coalesce(due, excluded.due), excluded.due)
        WHEN run_id <> '' THEN due
        ELSE coalesce(due, excluded.due)
    END
RETURNING prior_tail, epoch, status
