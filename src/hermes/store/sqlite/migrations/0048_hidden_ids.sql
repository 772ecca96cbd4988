-- What operators sent to a person on their own is found when the person is erased.
CREATE INDEX outbox_sends ON outbox (person_id) WHERE message_id = id;
