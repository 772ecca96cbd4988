-- Whether a conversation uses nothing of others and leaves nothing to them.
ALTER TABLE lanes ADD COLUMN temporary INTEGER NOT NULL DEFAULT 0;
