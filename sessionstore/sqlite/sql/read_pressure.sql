-- Ages are since the arrival: what is due at once has no due time of its own.
WITH waiting AS (
    SELECT tenant, session FROM session
    WHERE due IS NOT NULL AND due <= ?1 AND status <> 'paused' AND (owner IS NULL OR lease_until < ?1)
), unsent AS (
    SELECT created_at FROM outbox WHERE head = 1 AND due IS NOT NULL AND state IN ('pending', 'retry') AND due <= ?1
)
SELECT
    (SELECT count(*) FROM waiting),
    (SELECT min(i.received_at) FROM waiting w JOIN inbox i
        ON i.tenant = w.tenant AND i.session = w.session AND i.status = 'queued'),
    (SELECT count(*) FROM unsent),
    (SELECT min(created_at) FROM unsent),
    (SELECT count(*) FROM wait WHERE status = 'open'),
    (SELECT count(*) FROM dead WHERE state = 'dead')
