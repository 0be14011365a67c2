SELECT tenant, job, agent, handler, session, schedule, tz, misfire, overlap, grace_s, data, next_due, last_nominal,
    paused, revision
FROM cron WHERE ?1 IS NULL OR tenant = ?1 ORDER BY tenant, job
