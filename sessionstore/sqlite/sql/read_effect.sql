SELECT pos, effect_id, tenant, session, agent, epoch, run_id, turn_id, lane, adapter, target, body, summary, then_name, binds,
    approval, on_unknown, state, due, expires_at, attempts, checks, claim_until, external_id, receipt, result,
    error, unwanted, possible_duplicate, created_at, sent_at, settled_at
FROM outbox WHERE effect_id = ?
