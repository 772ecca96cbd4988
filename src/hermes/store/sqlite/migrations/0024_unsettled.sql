-- Replies of which nobody knows whether they arrived: every look of the outbox at its work asks for them.
CREATE INDEX outbox_unsettled ON outbox (platform, seq) WHERE state = 'unknown' AND held = 0;
