-- When a browser's session was last used.
ALTER TABLE credentials ADD COLUMN seen_at REAL;
