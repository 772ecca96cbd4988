-- The message with which a person stopped a reply that was being sent.
ALTER TABLE outbox ADD COLUMN stopped_by TEXT;
