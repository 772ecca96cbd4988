-- A file of message graphs in format 1. `PRAGMA application_id` says whose file it is, `user_version`
-- which format.

-- What holds for the whole file: `names` tells with which hasher the names were made.
CREATE TABLE about (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

-- Messages, and the tools of calls.
CREATE TABLE blobs (name BLOB NOT NULL UNIQUE, data BLOB NOT NULL);

-- Nodes of the trees under contexts.
CREATE TABLE chunks (name BLOB NOT NULL UNIQUE, data BLOB NOT NULL);

-- The log of each branch. The last line is where the branch is.
CREATE TABLE moves (
    graph TEXT NOT NULL,
    branch TEXT NOT NULL,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (graph, branch, number)
) WITHOUT ROWID;

CREATE TABLE calls (
    number INTEGER PRIMARY KEY,
    graph TEXT NOT NULL,
    id TEXT NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (graph, id)
);

-- Which graphs answered tool calls.
CREATE TABLE links (number INTEGER PRIMARY KEY, graph TEXT NOT NULL, data BLOB NOT NULL);

-- Thumbs for answers.
CREATE TABLE feedback (number INTEGER PRIMARY KEY, graph TEXT NOT NULL, data BLOB NOT NULL);
