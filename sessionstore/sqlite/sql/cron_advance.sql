UPDATE cron SET next_due = ?, last_nominal = coalesce(?, last_nominal)
WHERE tenant = ? AND job = ? AND next_due = ? AND paused = 0
