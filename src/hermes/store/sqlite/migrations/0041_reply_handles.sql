-- How often the reply handle of a message was used; NULL for a message without one.
ALTER TABLE inbox ADD COLUMN handle_used INTEGER;
-- The send of a delivery that used it last, and which use that was.
ALTER TABLE outbox ADD COLUMN handle_key TEXT;
ALTER TABLE outbox ADD COLUMN handle_number INTEGER;
