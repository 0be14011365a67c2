INSERT INTO cron_fire (tenant, job, nominal, at, outcome) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
