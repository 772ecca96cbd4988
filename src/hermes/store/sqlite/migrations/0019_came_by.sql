-- The way that a message came, if it came with a token or a key: whose share it counts for while it waits.
ALTER TABLE inbox ADD COLUMN came_by TEXT NOT NULL DEFAULT '';
