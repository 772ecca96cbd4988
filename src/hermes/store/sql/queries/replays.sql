-- name: calls_of_message
-- The calls of a message on a branch of a graph, in their order.
SELECT branch, number, id, data, person_id, tokens FROM calls
WHERE graph = ?1 AND branch = ?2 AND id > ?3 || '.' AND id < ?3 || '/' ORDER BY number;

-- name: begin
-- A replay begins, in a conversation that is there.
INSERT INTO replays (id, message_id, person_id, graph, agent, model, label, has_prompt, is_live, node,
    state, started_at)
SELECT ?1, ?2, ?3, graphs.id, ?5, ?6, ?7, ?8, ?9, ?10, 'running', ?11 FROM graphs WHERE name = ?4;

-- name: step
-- What a call of a replay took, or tools that it starts.
UPDATE replays SET calls = calls + ?2, tools_started = tools_started + ?3, tokens_in = tokens_in + ?4,
    tokens_out = tokens_out + ?5, cost_usd = cost_usd + ?6, unpriced = unpriced + ?7
WHERE id = ?1;

-- name: end
-- A replay ends, once.
UPDATE replays SET state = ?3, reason = ?4, ended_at = ?5, change = ?6, sealed = ?7
WHERE id = ?1 AND node = ?2 AND state = 'running';

-- name: page
-- Replays before one, the newest first; whether the node that runs one is alive tells which were cut off.
SELECT id, message_id, person_id, agent, model, label, has_prompt, is_live, state, reason, started_at,
    ended_at, calls, tools_started, tokens_in, tokens_out, cost_usd, unpriced, change, node,
    EXISTS (SELECT 1 FROM nodes WHERE nodes.id = replays.node AND buried_at IS NULL)
FROM replays WHERE id < ?1 ORDER BY id DESC LIMIT ?2;

-- name: page_of_message
-- The same of one message.
SELECT id, message_id, person_id, agent, model, label, has_prompt, is_live, state, reason, started_at,
    ended_at, calls, tools_started, tokens_in, tokens_out, cost_usd, unpriced, change, node,
    EXISTS (SELECT 1 FROM nodes WHERE nodes.id = replays.node AND buried_at IS NULL)
FROM replays WHERE message_id = ?3 AND id < ?1 ORDER BY id DESC LIMIT ?2;

-- name: page_of_label
-- The same of one set.
SELECT id, message_id, person_id, agent, model, label, has_prompt, is_live, state, reason, started_at,
    ended_at, calls, tools_started, tokens_in, tokens_out, cost_usd, unpriced, change, node,
    EXISTS (SELECT 1 FROM nodes WHERE nodes.id = replays.node AND buried_at IS NULL)
FROM replays WHERE label = ?3 AND label <> '' AND id < ?1 ORDER BY id DESC LIMIT ?2;

-- name: get
-- One replay.
SELECT id, message_id, person_id, agent, model, label, has_prompt, is_live, state, reason, started_at,
    ended_at, calls, tools_started, tokens_in, tokens_out, cost_usd, unpriced, change, node,
    EXISTS (SELECT 1 FROM nodes WHERE nodes.id = replays.node AND buried_at IS NULL)
FROM replays WHERE id = ?1;

-- name: story
-- The report of a replay.
SELECT person_id, sealed FROM replays WHERE id = ?1 AND sealed IS NOT NULL;
