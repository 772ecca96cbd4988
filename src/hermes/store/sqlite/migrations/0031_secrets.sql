-- API keys and passwords that operators store: of the gateway (agent '') or of one agent. The hash is empty for a value that hides the global one.
CREATE TABLE secrets (
    agent TEXT NOT NULL,
    name TEXT NOT NULL,
    sealed BLOB NOT NULL,
    hash TEXT NOT NULL,
    set_at REAL NOT NULL,
    set_by TEXT NOT NULL,
    PRIMARY KEY (agent, name)
) WITHOUT ROWID;
