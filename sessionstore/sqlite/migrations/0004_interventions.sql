-- person: who answers in the agent's place; while somebody does, only what comes in runs, and no handler.
-- last_op: the newest operator action, so that the same one asked twice is done once.
ALTER TABLE session ADD COLUMN person TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN last_op TEXT NOT NULL DEFAULT '';
