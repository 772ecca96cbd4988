-- Spending, keys of callers and remembered answers.

ALTER TABLE steps ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE interactions ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
CREATE INDEX events_calls ON events (at) WHERE kind = 'call';

-- What model calls took, summed as finely as anybody asks; never forgotten.
CREATE TABLE spend (
    day TEXT NOT NULL,
    person_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    channel TEXT NOT NULL,
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    cached_calls INTEGER NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    cached_in INTEGER NOT NULL,
    reasoning_out INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    unpriced_tokens INTEGER NOT NULL,
    assumed_usd REAL NOT NULL,
    PRIMARY KEY (day, person_id, agent, channel, key_id, model)
) WITHOUT ROWID;
CREATE INDEX spend_key ON spend (key_id, day) WHERE key_id <> '';

-- The same sums over everybody, so that what an agent or the platform took is a few rows.
CREATE TABLE spend_days (
    day TEXT NOT NULL,
    agent TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    usd REAL NOT NULL,
    PRIMARY KEY (day, agent)
) WITHOUT ROWID;

-- Keys of callers, by the hash of their secret.
CREATE TABLE caller_keys (
    id TEXT PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    label TEXT NOT NULL,
    user_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    hint TEXT NOT NULL,
    created_at REAL NOT NULL,
    models TEXT NOT NULL,
    budget_usd REAL,
    budget_period TEXT NOT NULL,
    budget_tokens INTEGER,
    requests_per_minute INTEGER,
    max_output_tokens INTEGER,
    expires_at REAL,
    revoked_at REAL
) WITHOUT ROWID;

-- Answers that may be given again to the person they were given to, bounded.
CREATE TABLE kept_answers (
    digest BLOB NOT NULL,
    person_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    call_id TEXT NOT NULL,
    body INTEGER NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    cached_in INTEGER NOT NULL,
    reasoning_out INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    unpriced INTEGER NOT NULL,
    stop_reason TEXT NOT NULL,
    at REAL NOT NULL,
    expires_at REAL NOT NULL,
    PRIMARY KEY (digest, person_id)
) WITHOUT ROWID;
CREATE INDEX kept_answers_age ON kept_answers (at);
CREATE INDEX kept_answers_expiry ON kept_answers (expires_at);
