-- How often a session was running when its process died, lowered by each turn that ends.
ALTER TABLE lanes ADD COLUMN restarts INTEGER NOT NULL DEFAULT 0;
