SELECT tenant, job, agent, handler, session, schedule, tz, misfire, overlap, grace_s, data, next_due, last_nominal,
    paused, revision
FROM cron WHERE tenant = ? AND job = ?
