UPDATE wait SET status = ?, answer = ?, ended_at = ? WHERE wait_id = ? AND status = 'open'
