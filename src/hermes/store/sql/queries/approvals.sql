-- name: ask
-- A question that a turn waits on.
INSERT INTO approvals (id, message_id, lane, ordinal, tool, arguments_hash, requester, chat_type,
    asked_at, expires_at, state, owner, question)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'waiting', ?11, ?12);

-- name: decide
-- Settle a waiting approval.
UPDATE approvals SET state = ?2, decided_by = ?3, decided_at = ?4
WHERE id = ?1 AND state = 'waiting' AND (?2 = 'expired' OR expires_at > ?4);

-- name: unblock_lane
-- The lane no longer waits.
UPDATE lanes SET waiting_on = NULL WHERE key = ?2 AND waiting_on = ?1;

-- name: get
-- One approval.
SELECT id, message_id, lane, ordinal, tool, arguments_hash, requester, chat_type, expires_at,
    state, decided_by
FROM approvals WHERE id = ?1;

-- name: asked_by
-- An approval with its lane, the message whose turn asked, and the tool, if a person or their channel sent that.
SELECT approvals.id, approvals.lane, message_id, tool
FROM approvals JOIN inbox ON inbox.id = message_id
WHERE approvals.id = ?1 AND (inbox.person_id = ?2 OR requester = ?3);

-- name: asked_below
-- What waits below a lane for messages of a person or their channel, but for questions of running tools, the oldest first.
SELECT approvals.id, approvals.lane, message_id, tool
FROM approvals JOIN inbox ON inbox.id = message_id
WHERE approvals.lane > ?1 || '/' AND approvals.lane < ?1 || '0' AND approvals.state = 'waiting'
    AND approvals.id < 'q_' AND (inbox.person_id = ?2 OR requester = ?3)
ORDER BY asked_at, approvals.id LIMIT 20;

-- name: untold
-- Messages that wait behind an approval and whose timeline does not say so, the oldest first.
SELECT id FROM inbox INDEXED BY inbox_open
WHERE lane = ?1 AND state <> 'done' AND state = 'new' AND NOT EXISTS (
    SELECT 1 FROM events
    WHERE events.message_id = inbox.id AND events.kind = ?2 AND events.data = ?3
)
ORDER BY seq LIMIT 100;

-- name: waiting
-- The approval that a lane waits on.
SELECT id FROM approvals WHERE lane = ?1 AND state = 'waiting';

-- name: waiting_around
-- What waits on a lane or below it, in background tasks and subagents, the oldest first.
SELECT id, asked_at FROM approvals WHERE lane = ?1 AND state = 'waiting'
UNION ALL
SELECT id, asked_at FROM approvals WHERE lane > ?1 || '/' AND lane < ?1 || '0' AND state = 'waiting'
ORDER BY asked_at, id LIMIT 20;

-- name: open
-- What waits and is not overdue, with whose message caused it, the oldest first.
SELECT approvals.id, asked_at, inbox.person_id
FROM approvals JOIN inbox ON inbox.id = approvals.message_id
WHERE approvals.state = 'waiting' AND expires_at > ?1 ORDER BY asked_at, approvals.id LIMIT ?2;

-- name: overdue
-- Waiting approvals whose time is up.
SELECT id FROM approvals WHERE state = 'waiting' AND expires_at <= ?1;

-- name: orphans
-- Questions that no tool can ask again: their turns have ended, or their calls, or their text was not kept.
UPDATE approvals SET state = 'expired', decided_by = 'restart'
WHERE state = 'waiting' AND id >= 'q_' AND id < 'q`' AND (question IS NULL OR NOT EXISTS (
    SELECT 1 FROM inbox JOIN steps ON steps.message_id = inbox.id
    WHERE inbox.id = approvals.message_id AND inbox.state = 'running'
        AND steps.ordinal = approvals.ordinal AND steps.state IN ('started', 'lost')
));

-- name: close_questions
-- Questions of a turn that has ended, and that its tools did not ask again.
UPDATE approvals SET state = 'expired', decided_by = 'restart'
WHERE message_id = ?1 AND state = 'waiting' AND id >= 'q_' AND id < 'q`';

-- name: questions_of
-- The questions that the tools of a message asked, the oldest first.
SELECT id FROM approvals WHERE message_id = ?1 AND id >= 'q_' AND id < 'q`' ORDER BY asked_at, id;

-- name: left_open
-- Questions that wait for an answer and whose node is gone, the oldest first.
SELECT id FROM approvals
WHERE state = 'waiting' AND id >= 'q_' AND id < 'q`' AND NOT EXISTS (
    SELECT 1 FROM nodes WHERE nodes.id = approvals.owner AND nodes.buried_at IS NULL
)
ORDER BY asked_at, id;

-- name: bodies
-- Whose message a question belongs to, what it asks, and what was answered.
SELECT inbox.person_id, question, answer
FROM approvals JOIN inbox ON inbox.id = approvals.message_id WHERE approvals.id = ?1;

-- name: adopt
-- A node runs the call again that had asked.
UPDATE approvals SET owner = ?2 WHERE id = ?1 AND state = 'waiting';

-- name: open_question
-- Whose answer a question waits for, what they have answered so far, and the message whose tool asks.
SELECT inbox.person_id, approvals.answer, inbox.id
FROM approvals JOIN inbox ON inbox.id = approvals.message_id
WHERE approvals.id = ?1 AND approvals.state = 'waiting' AND approvals.expires_at > ?2;

-- name: answer
-- What was answered.
UPDATE approvals SET answer = ?2 WHERE id = ?1 AND state = 'waiting';

-- name: answered_by
-- How a message has settled the question of a tool.
SELECT state FROM approvals WHERE decided_by = ?1 AND id >= 'q_' AND id < 'q`' LIMIT 1;

-- name: was_asked
-- Whether a tool ever asked somebody; the ids of such questions begin with q.
SELECT 1 FROM approvals WHERE requester = ?1 AND id >= 'q_' AND id < 'q`' LIMIT 1;

-- name: standing
-- Whether somebody has said "always" to something.
SELECT 1 FROM meta WHERE key = ?1;

-- name: stand
-- Somebody says "always".
INSERT INTO meta (key, value) VALUES (?1, '1') ON CONFLICT (key) DO NOTHING;

-- name: forget_standing
-- Somebody takes it back.
DELETE FROM meta WHERE key = ?1;
