SELECT min(due) FROM wait WHERE status = 'open' AND due IS NOT NULL
