-- The message graph. What the old transcript held moves onto it in the same transaction
-- (adoption.py), and the transcript is dropped then.

CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    person_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    graph INTEGER,
    name BLOB
);
INSERT INTO blobs (id, person_id, sealed) SELECT id, person_id, sealed FROM bodies;
DROP TABLE bodies;
CREATE UNIQUE INDEX blobs_name ON blobs (graph, name, person_id) WHERE name IS NOT NULL;

CREATE TABLE graphs (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    links INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE refs (
    graph INTEGER NOT NULL,
    branch TEXT NOT NULL,
    root BLOB NOT NULL,
    length INTEGER NOT NULL,
    version INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (graph, branch)
) WITHOUT ROWID;

CREATE TABLE moves (
    graph INTEGER NOT NULL,
    branch TEXT NOT NULL,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (graph, branch, number)
) WITHOUT ROWID;

CREATE TABLE chunks (
    graph INTEGER NOT NULL,
    name BLOB NOT NULL,
    data BLOB NOT NULL
);
CREATE UNIQUE INDEX chunks_name ON chunks (graph, name);

CREATE TABLE calls (
    graph INTEGER NOT NULL,
    branch TEXT NOT NULL,
    number INTEGER NOT NULL,
    id TEXT NOT NULL,
    data BLOB NOT NULL,
    person_id TEXT NOT NULL,
    tokens BLOB,
    PRIMARY KEY (graph, branch, number)
) WITHOUT ROWID;

CREATE TABLE links (
    graph INTEGER NOT NULL,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (graph, number)
) WITHOUT ROWID;

ALTER TABLE steps ADD COLUMN facts TEXT NOT NULL DEFAULT '';
ALTER TABLE people ADD COLUMN may_train INTEGER NOT NULL DEFAULT 0;
ALTER TABLE people ADD COLUMN consent_at REAL;
