-- What a channel must remember over a restart, sealed with a key of its own; the fence is that of the
-- claim on the channel under which a value was written.
CREATE TABLE channel_state (
    platform TEXT NOT NULL,
    key TEXT NOT NULL,
    sealed BLOB NOT NULL,
    fence INTEGER,
    at REAL NOT NULL,
    PRIMARY KEY (platform, key)
) WITHOUT ROWID;
