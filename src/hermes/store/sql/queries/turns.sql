-- name: lanes_with_work
-- Every lane with an unfinished message, oldest message first.
SELECT lane FROM inbox WHERE state <> 'done' GROUP BY lane ORDER BY min(seq);

-- name: lane
-- Where a lane stands.
SELECT fence, epoch, head, waiting_on, used_at, end_reason, choices, temporary
FROM lanes WHERE key = ?1;

-- name: view
-- A lane's oldest message without an outcome that is part of no other turn, the lane, and whether more wait.
SELECT seq, id, lane, inbox.person_id, body, state, busy, control, received_at, attempts,
    external_id, inbox.platform, outcome, done_at, merged_into, interrupted_by,
    fence, lanes.epoch, head, waiting_on, used_at, end_reason, choices,
    EXISTS (SELECT 1 FROM inbox AS behind INDEXED BY inbox_open
        WHERE behind.lane = ?1 AND behind.seq > inbox.seq AND behind.state <> 'done'),
    temporary
FROM lanes LEFT JOIN inbox INDEXED BY inbox_open
    ON lane = lanes.key AND state <> 'done' AND state <> 'merging'
WHERE lanes.key = ?1 ORDER BY seq LIMIT 1;

-- name: interrupter
-- Who asked for a running turn to end: a command, or the first message waiting behind it.
-- A turn that has asked for an approval ends for messages of its own person alone.
SELECT coalesce(
    (SELECT interrupted_by FROM inbox WHERE id = ?3),
    (SELECT id FROM inbox INDEXED BY inbox_open
        WHERE lane = ?1 AND state <> 'done' AND state = 'new' AND busy = 'interrupt' AND seq > ?2
            AND (
                person_id = (SELECT asking.person_id FROM inbox AS asking WHERE asking.id = ?3)
                OR NOT EXISTS (SELECT 1 FROM approvals WHERE message_id = ?3 AND approvals.id < 'q_')
            )
        ORDER BY seq LIMIT 1)
);

-- name: restarts
-- How often a session was cut off by the end of a process, less the turns that ended since.
SELECT restarts FROM lanes WHERE key = ?1;

-- name: interrupt
-- A turn has to end that runs, or waits for others to follow it or for its first model call.
UPDATE inbox SET interrupted_by = ?2
WHERE id = ?1 AND state IN ('new', 'running', 'parked') AND interrupted_by IS NULL;

-- name: interrupted_lane
-- The lane of a message that has to end and has not ended.
SELECT lane FROM inbox
WHERE id = ?1 AND state IN ('new', 'running', 'parked') AND interrupted_by IS NOT NULL;

-- name: interrupt_branch
-- Everything that a turn has started ends with it, at any depth, if it has to end and has not ended.
UPDATE inbox SET interrupted_by = ?2
WHERE lane > (SELECT stopped.lane || '/' || stopped.id || '.' FROM inbox AS stopped
        WHERE stopped.id = ?1 AND stopped.state <> 'done' AND stopped.interrupted_by IS NOT NULL)
    AND lane < (SELECT stopped.lane || '/' || stopped.id || '/' FROM inbox AS stopped
        WHERE stopped.id = ?1)
    AND state <> 'done' AND interrupted_by IS NULL
RETURNING lane, id;

-- name: interrupt_below
-- Everything that has not ended below a lane has to end.
UPDATE inbox SET interrupted_by = ?2
WHERE lane > ?1 || '/' AND lane < ?1 || '0' AND state <> 'done' AND interrupted_by IS NULL;

-- name: below
-- What has not ended below a lane, the oldest first.
SELECT seq, id, lane, person_id, body, state, busy, control, received_at, attempts, external_id,
    platform, outcome, done_at, merged_into, interrupted_by
FROM inbox INDEXED BY inbox_open
WHERE lane > ?1 || '/' AND lane < ?1 || '0' AND state <> 'done'
ORDER BY seq LIMIT 100;

-- name: count_below
-- How many messages have not ended below a lane.
SELECT count(*) FROM inbox INDEXED BY inbox_open
WHERE lane > ?1 || '/' AND lane < ?1 || '0' AND state <> 'done';

-- name: first
-- The first message of a lane.
SELECT seq, id, lane, person_id, body, state, busy, control, received_at, attempts, external_id,
    platform, outcome, done_at, merged_into, interrupted_by
FROM inbox INDEXED BY inbox_lane WHERE lane = ?1 ORDER BY seq LIMIT 1;

-- name: branch
-- The messages on all lanes that begin alike: '/' is the character after '.'.
SELECT seq, id, lane, person_id, body, state, busy, control, received_at, attempts, external_id,
    platform, outcome, done_at, merged_into, interrupted_by
FROM inbox INDEXED BY inbox_lane
WHERE lane > ?1 || '.' AND lane < ?1 || '/'
ORDER BY seq LIMIT ?2;

-- name: used
-- What the model calls of a message took, by who pays for them.
SELECT payer, sum(tokens_in), sum(tokens_out), sum(cached_in), sum(reasoning_out), sum(cost_usd),
    sum(unpriced)
FROM steps WHERE message_id = ?1 GROUP BY payer;

-- name: steering
-- Waiting messages of one person that want to join their running turn.
SELECT seq, id, lane, person_id, body, state, busy, control, received_at, attempts, external_id,
    platform, outcome, done_at, merged_into, interrupted_by
FROM inbox INDEXED BY inbox_open
WHERE lane = ?1 AND state <> 'done' AND state = 'new' AND busy = 'steer' AND person_id = ?2
ORDER BY seq LIMIT 20;

-- name: waiting
-- Messages that wait on a lane for their turn, the oldest first.
SELECT seq, id, lane, person_id, body, state, busy, control, received_at, attempts, external_id,
    platform, outcome, done_at, merged_into, interrupted_by
FROM inbox INDEXED BY inbox_open
WHERE lane = ?1 AND state <> 'done' AND state = 'new'
ORDER BY seq LIMIT 100;

-- name: lease
-- Take a lane that is free or ours, if nobody took it since it was read and our node was not buried.
UPDATE lanes SET owner = ?2, fence = fence + 1, waiting_on = NULL
WHERE key = ?1 AND fence = ?3 AND (owner IS NULL OR owner = ?2)
    AND NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = ?2 AND nodes.buried_at IS NOT NULL);

-- name: holds_lease
-- The lane of a lease that is still valid.
SELECT 1 FROM lanes WHERE key = ?1 AND owner = ?2 AND fence = ?3;

-- name: release
-- End a lease that still stands; a turn of a conversation that has ended adds nothing to the next.
UPDATE lanes SET owner = NULL, head = head + ?4, used_at = ?5, waiting_on = ?6,
    restarts = CASE WHEN CAST(?6 AS TEXT) IS NULL AND restarts > 0 THEN restarts - 1
        ELSE restarts END,
    ended_at = CASE WHEN CAST(?6 AS TEXT) IS NULL AND epoch = ?7 THEN NULL ELSE ended_at END,
    end_reason = CASE WHEN CAST(?6 AS TEXT) IS NULL AND epoch = ?7 THEN NULL ELSE end_reason END,
    turns = turns + CASE epoch WHEN ?7 THEN ?8 ELSE 0 END,
    tokens_in = tokens_in + CASE epoch WHEN ?7 THEN ?9 ELSE 0 END,
    tokens_out = tokens_out + CASE epoch WHEN ?7 THEN ?10 ELSE 0 END,
    cached_in = cached_in + CASE epoch WHEN ?7 THEN ?11 ELSE 0 END,
    cache_written = cache_written + CASE epoch WHEN ?7 THEN ?12 ELSE 0 END,
    cost_usd = cost_usd + CASE epoch WHEN ?7 THEN ?13 ELSE 0 END,
    unpriced = unpriced + CASE epoch WHEN ?7 THEN ?14 ELSE 0 END,
    choices = coalesce(?15, choices)
WHERE key = ?1 AND owner = ?2 AND fence = ?3;

-- name: start_message
-- The message's turn runs from now on.
UPDATE inbox SET state = 'running', started_at = coalesce(started_at, ?2),
    attempts = CASE state WHEN 'parked' THEN attempts ELSE attempts + 1 END
WHERE id = ?1 AND state IN ('new', 'running', 'parked');

-- name: finish_message
-- The one outcome of a message.
UPDATE inbox SET state = 'done', outcome = ?2, done_at = ?3, result_body = ?4, reply_body = ?5
WHERE id = ?1 AND state = 'running';

-- name: abandon
-- The outcome of a message that cannot be committed like any other.
UPDATE inbox SET state = 'done', outcome = ?2, done_at = ?3 WHERE id = ?1 AND state <> 'done';

-- name: free_lane
-- Nobody works on a lane any more.
UPDATE lanes SET owner = NULL, waiting_on = NULL
WHERE key = (SELECT lane FROM inbox WHERE id = ?1);

-- name: park_message
-- The message waits for a person.
UPDATE inbox SET state = 'parked' WHERE id = ?1 AND state = 'running';

-- name: claim
-- A waiting message becomes part of a running turn of the same person.
UPDATE inbox SET state = 'merging', merged_into = ?2
WHERE id = ?1 AND state = 'new'
    AND person_id = (SELECT host.person_id FROM inbox AS host WHERE host.id = ?2);

-- name: finish_merged
-- A message ends inside another's turn.
UPDATE inbox SET state = 'done', outcome = 'merged', done_at = ?3
WHERE id = ?1 AND merged_into = ?2 AND state = 'merging';

-- name: unclaim_orphans
-- Messages whose host has ended without them become new again.
UPDATE inbox SET state = 'new', merged_into = NULL
WHERE state = 'merging' AND NOT EXISTS (
    SELECT 1 FROM inbox AS host WHERE host.id = inbox.merged_into AND host.state <> 'done'
);

-- name: unclaim
-- Messages that a turn claimed and did not use become new again.
UPDATE inbox SET state = 'new', merged_into = NULL WHERE merged_into = ?1 AND state = 'merging';

-- name: reset_lane
-- The session starts again, with a new fence unless a turn holds the lane, which adds nothing to it.
UPDATE lanes SET epoch = epoch + 1, fence = fence + CASE WHEN owner IS NULL THEN 1 ELSE 0 END,
    restarts = 0, choices = NULL, adapter = NULL, turns = 0, tokens_in = 0, tokens_out = 0,
    cached_in = 0, cache_written = 0, cost_usd = 0, unpriced = 0, end_reason = ?2,
    ended_at = CASE WHEN CAST(?2 AS TEXT) IS NULL THEN NULL ELSE CAST(?3 AS DOUBLE PRECISION) END
WHERE key = ?1 RETURNING epoch;

-- name: keep_session
-- The session that an adapter has for the conversation of a lane.
UPDATE lanes SET adapter = ?2 WHERE key = ?1;

-- name: forget_session
-- An adapter's session knows what was taken back; the next turn begins another one.
UPDATE lanes SET adapter = NULL WHERE key = ?1;

-- name: kept_session
-- The session that an adapter has for the conversation of a lane.
SELECT adapter FROM lanes WHERE key = ?1;

-- name: start_step
-- A step, before its effect.
INSERT INTO steps (message_id, ordinal, kind, state, name, arguments_hash, person_id, body,
    payer, started_at, ended_at, facts)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12);

-- name: end_step
-- A step, after its effect.
UPDATE steps SET state = ?3, body = ?4, tokens_in = ?5, tokens_out = ?6, cached_in = ?7,
    reasoning_out = ?8, cost_usd = ?9, unpriced = ?10, payer = ?11, ended_at = ?12, facts = ?13
WHERE message_id = ?1 AND ordinal = ?2 AND state = 'started';

-- name: steps
-- The steps of a turn, in order.
SELECT ordinal, kind, state, name, arguments_hash, body, tokens_in, tokens_out, cached_in,
    reasoning_out, cost_usd, unpriced, payer, started_at, ended_at, facts, person_id
FROM steps WHERE message_id = ?1 ORDER BY ordinal;

-- name: step_body
-- The body that a step holds.
SELECT body FROM steps WHERE message_id = ?1 AND ordinal = ?2;

-- name: interaction
-- The provenance of a turn.
INSERT INTO interactions (message_id, person_id, agent, platform, llm_backend, llm_cache_hit,
    soul_load_ms, semantic_recall_used, tools, tool_exec_ms, tokens_in, tokens_out, cost_usd,
    unpriced, platform_tokens, platform_cost_usd, at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17);
