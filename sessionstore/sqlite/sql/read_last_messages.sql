SELECT w.value, (SELECT t.body FROM transcript t
    WHERE t.tenant = ?1 AND t.session = w.value AND t.type IN ('message.in', 'message.out') ORDER BY t.seq DESC LIMIT 1)
FROM json_each(?2) w
