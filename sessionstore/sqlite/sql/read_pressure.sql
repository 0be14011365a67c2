WITH waiting AS (
    SELECT due FROM session
    WHERE due IS NOT NULL AND due <= ?1 AND status <> 'paused' AND (owner IS NULL OR lease_until < ?1)
), unsent AS (
    SELECT due FROM outbox WHERE head = 1 AND due IS NOT NULL AND state IN ('pending', 'retry') AND due <= ?1
)
SELECT
    (SELECT count(*) FROM waiting),
    (SELECT min(due) FROM waiting),
    (SELECT count(*) FROM unsent),
    (SELECT min(due) FROM unsent),
    (SELECT count(*) FROM wait WHERE status = 'open'),
    (SELECT count(*) FROM dead WHERE state = 'dead')
