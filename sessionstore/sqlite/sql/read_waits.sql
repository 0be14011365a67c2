SELECT wait_id, tenant, session, agent, epoch, turn_id, kind, then_name, question, options, binds, data, priority, route,
    due, status, answer, answered_by, note, asked_at, ended_at
FROM wait
WHERE (?1 IS NULL OR tenant = ?1) AND (?2 IS NULL OR session = ?2) AND (?3 = '' OR status = ?3)
    AND (?5 = '' OR kind = ?5)
ORDER BY CASE WHEN ?3 = 'open' THEN asked_at ELSE -asked_at END LIMIT ?4
