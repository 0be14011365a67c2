SELECT wait_id FROM wait WHERE status = 'open' AND due IS NOT NULL AND due <= ? ORDER BY due LIMIT ?
