SELECT dead_id, tenant, session, source, event_id, pos, reason, raw, at, state FROM dead WHERE dead_id = ?
