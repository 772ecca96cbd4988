-- Memory: facts about people with their vectors, the system blocks that sessions began with, and
-- the jobs that learn from what was said.

CREATE TABLE facts (
    id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL,
    at REAL NOT NULL,
    sealed BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX facts_person ON facts (person_id, at);

CREATE TABLE fact_vectors (
    fact_id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL,
    model TEXT NOT NULL,
    sealed BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX fact_vectors_person ON fact_vectors (person_id, model);

CREATE TABLE souls (
    lane TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL,
    person_id TEXT NOT NULL,
    shared_from INTEGER,
    sealed BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE jobs (
    key TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    lane TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    person_id TEXT NOT NULL,
    due_at REAL,
    latest_at REAL NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    touched INTEGER NOT NULL DEFAULT 1,
    covered INTEGER NOT NULL DEFAULT 0,
    failure TEXT
) WITHOUT ROWID;
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_person ON jobs (person_id);

CREATE INDEX inbox_person ON inbox (person_id, seq) WHERE control = 0;
