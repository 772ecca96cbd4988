-- Answers that operators had made again: of which message, how it ended and what it took. The report is
-- sealed for the person whose message it is; what was said is a branch of the conversation's graph.
CREATE TABLE replays (
    id TEXT PRIMARY KEY,
    message_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    graph INTEGER NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    label TEXT NOT NULL,
    has_prompt INTEGER NOT NULL,
    is_live INTEGER NOT NULL,
    node TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    started_at REAL NOT NULL,
    ended_at REAL,
    calls INTEGER NOT NULL DEFAULT 0,
    tools_started INTEGER NOT NULL DEFAULT 0,
    tokens_in INTEGER NOT NULL DEFAULT 0,
    tokens_out INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL NOT NULL DEFAULT 0,
    unpriced INTEGER NOT NULL DEFAULT 0,
    change REAL,
    sealed BLOB
) WITHOUT ROWID;
CREATE INDEX replays_message ON replays (message_id);
CREATE INDEX replays_label ON replays (label) WHERE label <> '';
CREATE INDEX replays_graph ON replays (graph);
