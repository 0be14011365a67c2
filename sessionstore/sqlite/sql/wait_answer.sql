UPDATE wait SET status = ?, answer = ?, answered_by = ?, note = ?, ended_at = ?
WHERE wait_id = ? AND status = 'open' AND (due IS NULL OR due > ?5 OR kind = 'timer')
