-- Agents that were made while the gateway runs; those of config.yaml are not here.
CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    version INTEGER NOT NULL,
    author TEXT NOT NULL,
    created_at REAL NOT NULL,
    changed_at REAL NOT NULL,
    delete_at REAL
) WITHOUT ROWID;
-- What the gateway has to look after by itself: few rows, however many agents there are.
CREATE INDEX agents_due ON agents (state, delete_at) WHERE state IN ('provisioning', 'deleting');
-- Every change of an agent; what it says is sealed with a key of the agents.
CREATE TABLE agent_versions (
    agent_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    author TEXT NOT NULL,
    at REAL NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (agent_id, number)
) WITHOUT ROWID;
