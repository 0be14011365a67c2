-- Set when it is sent again, or given up, although an earlier attempt may have done it: from then on nobody can say by
-- himself that it was not done.
ALTER TABLE outbox ADD COLUMN unclear INTEGER NOT NULL DEFAULT 0;
