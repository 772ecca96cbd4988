-- Thumbs for answers. They belong to a graph; each graph counts its own, so that a lost row is found.
CREATE TABLE feedback (
    graph INTEGER NOT NULL,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    person_id TEXT NOT NULL,
    reason BLOB,
    PRIMARY KEY (graph, number)
) WITHOUT ROWID;
ALTER TABLE graphs ADD COLUMN feedback INTEGER NOT NULL DEFAULT 0;
