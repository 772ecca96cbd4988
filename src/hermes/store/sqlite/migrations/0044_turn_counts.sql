-- Turns that ended in a span of time, by how they ended and how long the answer took (-1: no model
-- answered), for charts: spans of five minutes, which become an hour, and then a day.
CREATE TABLE turn_counts (
    span_s INTEGER NOT NULL,
    at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    slowness INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    unpriced INTEGER NOT NULL,
    PRIMARY KEY (span_s, at, outcome, slowness)
) WITHOUT ROWID;
