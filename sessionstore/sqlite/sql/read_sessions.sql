SELECT s.tenant, s.session, s.agent, s.status, s.epoch, s.version, s.seq, s.fence, s.owner_name, s.lease_until, s.due, s.run_id,
    s.last_turn, s.attempt, s.attempt_error, s.reply_route, s.turns, s.tokens, s.cost, s.seconds, s.created_at, s.updated_at,
    (SELECT count(*) FROM (SELECT 1 FROM inbox i WHERE i.tenant = s.tenant AND i.session = s.session AND i.status = 'queued'
        LIMIT 1000)),
    (SELECT count(*) FROM outbox o WHERE o.tenant = s.tenant AND o.session = s.session AND o.blocks = 1),
    r.body
FROM session s LEFT JOIN record r ON r.tenant = s.tenant AND r.session = s.session
WHERE (?1 IS NULL OR s.tenant = ?1) AND (?2 = '' OR instr(s.session, ?2) > 0)
    AND (?3 IS NULL OR (s.updated_at, s.session) < (?3, ?5))
ORDER BY s.updated_at DESC, s.session DESC LIMIT ?4
