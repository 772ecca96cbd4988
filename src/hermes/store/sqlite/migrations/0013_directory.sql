-- Chats by name. What a chat is called is sealed: with the key of the person whose direct chat it
-- is, or with one that is the directory's own.
CREATE TABLE directory (
    platform TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    sealed BLOB NOT NULL,
    is_listed INTEGER NOT NULL,
    seen_at REAL NOT NULL,
    PRIMARY KEY (platform, chat_id)
) WITHOUT ROWID;
CREATE INDEX directory_owner ON directory (owner);
