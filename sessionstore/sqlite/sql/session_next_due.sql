SELECT min(due) FROM session
WHERE due > ? AND status <> 'paused'
