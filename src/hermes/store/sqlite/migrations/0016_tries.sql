-- What happened to a delivery on its way: how many of its sends failed, and the last of them with what
-- the platform said, sealed with the person's key because that may quote them.
ALTER TABLE outbox ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN story BLOB;
