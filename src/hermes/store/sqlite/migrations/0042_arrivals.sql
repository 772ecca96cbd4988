-- Whether the message of a delivery that is on the wire is its last one.
ALTER TABLE outbox ADD COLUMN last INTEGER NOT NULL DEFAULT 0;
