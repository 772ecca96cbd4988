-- Jobs that time starts: what they do and when is sealed for their person.

CREATE TABLE cron_jobs (
    id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    created_at REAL NOT NULL,
    next_at REAL,
    paused_at REAL,
    reason TEXT,
    last_at REAL,
    last_message TEXT,
    runs INTEGER NOT NULL DEFAULT 0,
    missed INTEGER NOT NULL DEFAULT 0,
    missed_at REAL
) WITHOUT ROWID;
CREATE INDEX cron_jobs_due ON cron_jobs (next_at) WHERE next_at IS NOT NULL AND paused_at IS NULL;
CREATE INDEX cron_jobs_person ON cron_jobs (person_id, created_at);
