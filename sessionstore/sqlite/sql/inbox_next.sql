-- While a person answers in the agent's place, only what comes in runs; it is recorded, and no handler is called.
SELECT pos, due FROM inbox
WHERE tenant = ?1 AND session = ?2 AND status = 'queued' AND (rank < 2 OR ?3 = '')
    AND (kind IN ('message', 'cron', 'command')
        OR (SELECT person FROM session WHERE tenant = ?1 AND session = ?2) = '')
ORDER BY rank, pos LIMIT 1
