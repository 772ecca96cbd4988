-- name: accept
-- Keep a message; its unique name was looked up before, in the same transaction.
INSERT INTO inbox (id, account, platform, route, external_id, digest, lane, control, busy,
    person_id, body, state, received_at, epoch, came_by, content_key, handle_used)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'new', ?12, ?13, ?14, ?15, ?16)
RETURNING seq;

-- name: find_external
-- Find the message that already has this id, or had it before its person was erased.
SELECT id, digest, state FROM inbox
WHERE account = ?1 AND platform = ?2 AND route = ?3 AND external_id IN (?4, ?5);

-- name: find_content
-- Find the message whose sender signed the same content, whatever its id.
SELECT id, state FROM inbox INDEXED BY inbox_content
WHERE account = ?1 AND platform = ?2 AND route = ?3 AND content_key = ?4;

-- name: add_lane
-- The lane of a new session, or of a task of one; a task is as temporary as its session.
INSERT INTO lanes (key, person_id, platform, chat_id, used_at, temporary)
VALUES (?1, ?2, ?3, ?4, ?5, CASE WHEN ?6 <> 0 OR EXISTS (
    SELECT 1 FROM lanes AS root WHERE root.key = ?7 AND root.temporary <> 0
) THEN 1 ELSE 0 END)
RETURNING temporary;

-- name: under_way
-- Whose is the oldest open message of a lane; the index is in that order, asking for it costs 20 us.
SELECT person_id FROM inbox INDEXED BY inbox_open WHERE lane = ?1 AND state <> 'done' LIMIT 1;

-- name: get
-- One message by its id.
SELECT seq, id, lane, person_id, body, state, busy, control, received_at, attempts, external_id,
    platform, outcome, done_at, merged_into, interrupted_by
FROM inbox WHERE id = ?1;

-- name: state
-- Where one message stands.
SELECT state FROM inbox WHERE id = ?1;

-- name: next_route
-- Where messages come from, one after the other: a step along the index for each.
SELECT account, platform, route FROM inbox WHERE (account, platform, route) > (?1, ?2, ?3)
ORDER BY account, platform, route LIMIT 1;

-- name: by_external
-- The message that a caller named so on one way.
SELECT seq, id FROM inbox
WHERE account = ?1 AND platform = ?2 AND route = ?3 AND external_id = ?4;

-- name: result
-- The sealed result of a finished message, and whose it is.
SELECT reply_body, result_body, person_id FROM inbox WHERE id = ?1;

-- name: open_shares
-- Whose the messages are that have no outcome yet. Which are commands is not kept.
SELECT id, person_id, lane,
    CASE came_by WHEN '' THEN platform || ':' || account || ':' || route || ':' ELSE came_by END
FROM inbox INDEXED BY inbox_open WHERE state <> 'done' ORDER BY lane, seq;

-- name: refuse
-- Note a refusal.
INSERT INTO refusals (id, at, platform, code, text, external_id, message_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: trim_refusals
-- Keep only the newest refusals.
DELETE FROM refusals WHERE seq <= (SELECT max(seq) FROM refusals) - ?1;

-- name: refusal
-- A refusal by its own id, or the newest one of an external id.
SELECT id, at, platform, code, text, external_id, message_id FROM refusals
WHERE id = ?1 OR external_id = ?1 ORDER BY seq DESC LIMIT 1;

-- name: add_event
-- One line of a timeline.
INSERT INTO events (message_id, at, kind, data) VALUES (?1, ?2, ?3, ?4);

-- name: count_events
-- How many lines of a kind a timeline has.
SELECT count(*) FROM events WHERE message_id = ?1 AND kind = ?2;

-- name: events
-- The timeline of a message.
SELECT kind, at, data FROM events WHERE message_id = ?1 ORDER BY id;
