UPDATE wait SET status = 'cancelled', ended_at = ? WHERE wait_id = ? AND status = 'open'
