-- How many messages the text of a reply might be when its first one was sent; 0 is any number.
ALTER TABLE outbox ADD COLUMN most INTEGER;
