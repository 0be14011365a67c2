SELECT min(due) FROM (
    SELECT min(due) AS due FROM outbox WHERE head = 1 AND due IS NOT NULL AND state IN ('pending', 'retry')
    UNION ALL
    SELECT min(due) FROM outbox WHERE state = 'unknown' AND due IS NOT NULL
)
