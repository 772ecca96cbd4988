-- Whether a key may have its responses stored.
ALTER TABLE caller_keys ADD COLUMN store_responses INTEGER NOT NULL DEFAULT 0;

-- Conversations of stored responses: each key has its own, and all of one expires together.
CREATE TABLE response_chains (
    root TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    responses INTEGER NOT NULL,
    size INTEGER NOT NULL,
    expires_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX response_chains_key ON response_chains (key_id, expires_at, responses, size);
CREATE INDEX response_chains_expiry ON response_chains (expires_at);
CREATE INDEX response_chains_person ON response_chains (person_id);

-- Responses of `/v1/responses` that later calls continue: what one call added to its conversation,
-- and the rest of its answer; the bodies of both are sealed.
CREATE TABLE stored_responses (
    id TEXT PRIMARY KEY,
    root TEXT NOT NULL,
    previous TEXT,
    depth INTEGER NOT NULL,
    size INTEGER NOT NULL,
    context_size INTEGER NOT NULL,
    items INTEGER NOT NULL,
    answer INTEGER NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX stored_responses_root ON stored_responses (root, at);
