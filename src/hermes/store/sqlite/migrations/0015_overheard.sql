-- What was said in a group without being meant for the bot, until it is: the body is the inbox row's,
-- sealed with the writer's key. Bounded per chat, and forgotten after a day.
CREATE TABLE overheard (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chat TEXT NOT NULL,
    thread TEXT NOT NULL,
    message_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    body INTEGER NOT NULL,
    chars INTEGER NOT NULL,
    at REAL NOT NULL
);
CREATE INDEX overheard_chat ON overheard (chat, id);
CREATE INDEX overheard_person ON overheard (person_id);
CREATE INDEX overheard_at ON overheard (at);

-- How many turns in a row bots have had in a chat since a person wrote there.
CREATE TABLE bot_turns (
    chat TEXT PRIMARY KEY,
    turns INTEGER NOT NULL
) WITHOUT ROWID;
