-- Orders of operators, each begun before it is carried out; ids only, bounded.
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    at REAL NOT NULL,
    actor TEXT NOT NULL,
    role TEXT NOT NULL,
    action TEXT NOT NULL,
    targets TEXT NOT NULL,
    state TEXT NOT NULL,
    code TEXT NOT NULL,
    ended_at REAL
);
CREATE INDEX audit_at ON audit (at);
-- What a credential may order, and for a browser's session the token that signed it in.
ALTER TABLE credentials ADD COLUMN role TEXT NOT NULL DEFAULT 'owner';
ALTER TABLE credentials ADD COLUMN parent BLOB;
-- Platforms on which nothing is accepted and nothing sent.
CREATE TABLE paused_channels (
    platform TEXT PRIMARY KEY,
    at REAL NOT NULL
) WITHOUT ROWID;
-- Replies that were given up.
CREATE INDEX outbox_dead ON outbox (ended_at) WHERE state = 'dead';
