UPDATE dead SET state = ? WHERE dead_id = ? AND state = 'dead'
