-- The search index; it can be made again from the message graphs at any time.

-- Facts about this file.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- How far each branch of each graph was read: that version and all before are here or waiting.
CREATE TABLE positions (
    graph INTEGER NOT NULL,
    branch TEXT NOT NULL,
    version INTEGER NOT NULL,
    root BLOB NOT NULL,
    PRIMARY KEY (graph, branch)
) WITHOUT ROWID;

-- Versions that were seen and not taken in yet, to be taken in the order of time.
CREATE TABLE waiting (
    at REAL NOT NULL,
    graph INTEGER NOT NULL,
    branch TEXT NOT NULL,
    number INTEGER NOT NULL,
    root BLOB NOT NULL,
    start INTEGER NOT NULL,
    added INTEGER NOT NULL,
    person TEXT NOT NULL,
    turn TEXT NOT NULL,
    PRIMARY KEY (at, graph, branch, number)
) WITHOUT ROWID;

-- Numbers of people, sessions, agents and platforms.
CREATE TABLE names (
    number INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (kind, name)
);

-- The graphs as this index knows them, and the session that each belongs to.
CREATE TABLE graphs (
    graph INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    chat INTEGER NOT NULL,
    is_thread INTEGER NOT NULL
);
CREATE INDEX graphs_chat ON graphs (chat);

-- Who said something in which graph.
CREATE TABLE members (
    person INTEGER NOT NULL,
    graph INTEGER NOT NULL,
    PRIMARY KEY (person, graph)
) WITHOUT ROWID;
CREATE INDEX members_graph ON members (graph);

-- The beginnings of messages, numbered in the order of time.
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    graph INTEGER NOT NULL,
    person INTEGER NOT NULL,
    role INTEGER NOT NULL,
    at REAL NOT NULL,
    turn TEXT NOT NULL,
    text TEXT NOT NULL
);

-- Every three signs in a row of a folded message, and its marks.
CREATE VIRTUAL TABLE parts USING fts5 (
    text, person, chat, agent, platform,
    content = '', detail = none, columnsize = 0, tokenize = 'trigram case_sensitive 1'
);

-- The words of a folded message, and its marks.
CREATE VIRTUAL TABLE words USING fts5 (
    text, person, chat, agent, platform,
    content = '', columnsize = 0, tokenize = "ascii tokenchars '_'"
);

-- What is deleted is gone at once, and not when its pages are written anew.
INSERT INTO parts (parts, rank) VALUES ('secure-delete', 1);
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
