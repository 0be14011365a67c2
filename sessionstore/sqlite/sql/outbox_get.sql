SELECT pos, tenant, session, agent, epoch, run_id, turn_id, effect_id, adapter, lane, target, body, summary, then_name,
    binds, approval, route, expires_at, on_unknown, state, attempts, claim, claim_until, created_at, sent_at,
    external_id, unwanted, error, checks, unclear
FROM outbox WHERE pos = ?
