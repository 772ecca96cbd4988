-- What operators sent to a person on their own is found when the person is erased.
CREATE INDEX outbox_sends ON outbox (person_id) WHERE message_id = id;

-- Reactions to messages of the bot that came before it was known that these had been posted; the body is
-- the event, sealed with its person's key. Bounded, and forgotten after a day.
CREATE TABLE early_reactions (
    id TEXT PRIMARY KEY,
    platform TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    platform_message_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    body INTEGER NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX early_reactions_at ON early_reactions (at);
