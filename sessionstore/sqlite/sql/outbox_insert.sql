INSERT INTO outbox (tenant, session, effect_id, agent, epoch, run_id, turn_id, lane, adapter, target, body, summary,
    then_name, binds, approval, route, on_unknown, due, expires_at, created_at, state, attempts, claim, claim_until, sent_at,
    head)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25,
    NOT EXISTS (SELECT 1 FROM outbox WHERE tenant = ?1 AND session = ?2 AND lane = ?8 AND blocks = 1))
