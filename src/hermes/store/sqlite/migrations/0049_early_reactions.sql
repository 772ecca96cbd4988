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
