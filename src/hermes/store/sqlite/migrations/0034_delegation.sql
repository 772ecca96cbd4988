-- Whether a key or a token may delegate: then its messages may be commands that give tasks to agents.
ALTER TABLE caller_keys ADD COLUMN may_delegate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE credentials ADD COLUMN may_delegate INTEGER NOT NULL DEFAULT 0;
