-- Where callers over A2A want to be notified of their tasks. What was told last is the outcome or the state of the message; it is due again when that differs.
CREATE TABLE task_pushes (
    task_id TEXT NOT NULL,
    id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    told TEXT NOT NULL DEFAULT '',
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at REAL NOT NULL,
    ended_at REAL,
    PRIMARY KEY (task_id, id)
) WITHOUT ROWID;
CREATE INDEX task_pushes_open ON task_pushes (person_id, due_at) WHERE ended_at IS NULL;
