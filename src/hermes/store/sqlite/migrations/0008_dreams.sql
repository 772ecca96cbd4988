-- What the last weekly look at a person added up to; sealed.
CREATE TABLE dreams (
    person_id TEXT PRIMARY KEY,
    at REAL NOT NULL,
    sealed BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX jobs_dreams ON jobs (latest_at) WHERE kind = 'dream';
