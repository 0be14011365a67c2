INSERT INTO cron (tenant, job, agent, handler, session, schedule, tz, misfire, overlap, grace_s, data, next_due, last_nominal,
    paused, revision)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, job) DO UPDATE SET
    agent = excluded.agent, handler = excluded.handler, session = excluded.session, schedule = excluded.schedule,
    tz = excluded.tz, misfire = excluded.misfire, overlap = excluded.overlap, grace_s = excluded.grace_s,
    data = excluded.data, next_due = excluded.next_due, revision = excluded.revision
