SELECT min(next_due) FROM cron WHERE paused = 0
