-- name: count
-- A turn that ended, added to its five minutes.
INSERT INTO turn_counts (span_s, at, outcome, slowness, turns, messages, tokens, cost_usd, unpriced)
VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8)
ON CONFLICT (span_s, at, outcome, slowness) DO UPDATE SET
    turns = turn_counts.turns + 1,
    messages = turn_counts.messages + excluded.messages,
    tokens = turn_counts.tokens + excluded.tokens,
    cost_usd = turn_counts.cost_usd + excluded.cost_usd,
    unpriced = turn_counts.unpriced + excluded.unpriced;

-- name: counts
-- The turns of some time, in longer spans.
SELECT at / ?2 * ?2 AS step, outcome, slowness, sum(turns), sum(messages), sum(tokens), sum(cost_usd), sum(unpriced)
FROM turn_counts
WHERE span_s IN (300, 3600, 86400) AND at >= ?1
GROUP BY step, outcome, slowness ORDER BY step;

-- name: has_before
-- Whether there are spans of a length from before a time.
SELECT 1 FROM turn_counts WHERE span_s = ?1 AND at < ?2 LIMIT 1;

-- name: join_spans
-- Spans of one length from before a time, as spans of another one.
INSERT INTO turn_counts (span_s, at, outcome, slowness, turns, messages, tokens, cost_usd, unpriced)
SELECT ?3, at / ?3 * ?3 AS begun, outcome, slowness, sum(turns), sum(messages), sum(tokens),
    sum(cost_usd), sum(unpriced)
FROM turn_counts WHERE span_s = ?1 AND at < ?2
GROUP BY begun, outcome, slowness
ON CONFLICT (span_s, at, outcome, slowness) DO UPDATE SET
    turns = turn_counts.turns + excluded.turns,
    messages = turn_counts.messages + excluded.messages,
    tokens = turn_counts.tokens + excluded.tokens,
    cost_usd = turn_counts.cost_usd + excluded.cost_usd,
    unpriced = turn_counts.unpriced + excluded.unpriced;

-- name: drop_before
-- Forget spans of a length from before a time.
DELETE FROM turn_counts WHERE span_s = ?1 AND at < ?2;

-- name: running
-- Messages whose turn has begun and not ended, the oldest first, with what their steps took so far.
SELECT inbox.id, inbox.state, inbox.lane, inbox.person_id, inbox.platform, inbox.received_at, inbox.started_at,
    inbox.attempts, count(steps.ordinal), coalesce(sum(steps.tokens_in), 0), coalesce(sum(steps.tokens_out), 0),
    coalesce(sum(steps.cost_usd), 0.0), coalesce(sum(steps.unpriced), 0)
FROM inbox LEFT JOIN steps ON steps.message_id = inbox.id
WHERE inbox.state <> 'done' AND inbox.state IN ('running', 'parked')
GROUP BY inbox.id, inbox.state, inbox.lane, inbox.person_id, inbox.platform, inbox.received_at,
    inbox.started_at, inbox.attempts, inbox.seq
ORDER BY inbox.seq LIMIT ?1;

-- name: last_step
-- The newest step of a turn.
SELECT kind, state, name, started_at FROM steps WHERE message_id = ?1 ORDER BY ordinal DESC LIMIT 1;
