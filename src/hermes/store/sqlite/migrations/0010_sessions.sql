-- A session that ended by itself: when and why, until its next message has been answered.
ALTER TABLE lanes ADD COLUMN ended_at REAL;
ALTER TABLE lanes ADD COLUMN end_reason TEXT;
-- What its people chose for it, and what it has used, until it starts afresh.
ALTER TABLE lanes ADD COLUMN choices TEXT;
ALTER TABLE lanes ADD COLUMN turns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN tokens_in INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN tokens_out INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN cached_in INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN cache_written INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN cost_usd REAL NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
