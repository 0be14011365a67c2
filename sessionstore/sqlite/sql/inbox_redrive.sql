-- A place at the end of the line: turn and effect ids come from the position, and those of the dead turn are taken.
UPDATE inbox SET pos = (SELECT max(pos) + 1 FROM inbox), status = 'queued', body = ?, due = ?, reason = NULL,
    settled_at = NULL, turn_id = NULL
WHERE pos = ? AND status = 'dead'
RETURNING pos
