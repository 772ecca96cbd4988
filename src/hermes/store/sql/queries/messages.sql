-- name: first_from
-- The first message from a number on, with its time and id.
SELECT seq, received_at, id FROM inbox WHERE seq >= ?1 ORDER BY seq LIMIT 1;

-- name: last
-- The number of the newest message.
SELECT seq FROM inbox ORDER BY seq DESC LIMIT 1;

-- name: by_time
-- Messages between two numbers, the newest first; ?1 is there for the other ways of this kind.
SELECT seq, id FROM inbox WHERE seq < ?2 AND seq >= ?3 AND control = 0 AND ?1 = ''
ORDER BY seq DESC LIMIT ?4;

-- name: by_person
-- The same of one person.
SELECT seq, id FROM inbox INDEXED BY inbox_person
WHERE person_id = ?1 AND control = 0 AND seq < ?2 AND seq >= ?3 ORDER BY seq DESC LIMIT ?4;

-- name: by_platform
-- The same of one platform.
SELECT seq, id FROM inbox INDEXED BY inbox_platform
WHERE platform = ?1 AND control = 0 AND seq < ?2 AND seq >= ?3 ORDER BY seq DESC LIMIT ?4;

-- name: by_outcome
-- The same of one outcome that is not the usual one.
SELECT seq, id FROM inbox INDEXED BY inbox_outcome
WHERE outcome = ?1 AND outcome <> 'answered' AND control = 0 AND seq < ?2 AND seq >= ?3
ORDER BY seq DESC LIMIT ?4;

-- name: by_open
-- The same of those that have not ended, of which there are few.
SELECT seq, id FROM inbox INDEXED BY inbox_open
WHERE state <> 'done' AND control = 0 AND seq < ?2 AND seq >= ?3 AND ?1 = ''
ORDER BY seq DESC LIMIT ?4;

-- name: by_agent
-- The same of the turns of one agent, by their ids; the row of a message may have been forgotten.
SELECT (SELECT seq FROM inbox WHERE inbox.id = message_id), message_id
FROM interactions INDEXED BY interactions_agent
WHERE agent = ?1 AND message_id < ?2 AND message_id >= ?3 ORDER BY message_id DESC LIMIT ?4;

-- name: by_model
-- The same of the turns that one model answered.
SELECT (SELECT seq FROM inbox WHERE inbox.id = message_id), message_id
FROM interactions INDEXED BY interactions_model
WHERE llm_backend = ?1 AND message_id < ?2 AND message_id >= ?3
ORDER BY message_id DESC LIMIT ?4;

-- name: by_dollar
-- The same of turns that cost a dollar or more.
SELECT (SELECT seq FROM inbox WHERE inbox.id = message_id), message_id
FROM interactions INDEXED BY interactions_dollar
WHERE cost_usd >= 1.0 AND message_id < ?2 AND message_id >= ?3 AND ?1 = ''
ORDER BY message_id DESC LIMIT ?4;

-- name: by_dime
-- The same of turns that cost ten cents or more.
SELECT (SELECT seq FROM inbox WHERE inbox.id = message_id), message_id
FROM interactions INDEXED BY interactions_dime
WHERE cost_usd >= 0.1 AND message_id < ?2 AND message_id >= ?3 AND ?1 = ''
ORDER BY message_id DESC LIMIT ?4;

-- name: by_cent
-- The same of turns that cost a cent or more.
SELECT (SELECT seq FROM inbox WHERE inbox.id = message_id), message_id
FROM interactions INDEXED BY interactions_cent
WHERE cost_usd >= 0.01 AND message_id < ?2 AND message_id >= ?3 AND ?1 = ''
ORDER BY message_id DESC LIMIT ?4;

-- name: conversation
-- The session of a message, and which of its conversations.
SELECT lane, epoch FROM inbox WHERE id = ?1;

-- name: lines
-- Those of some messages, by their numbers, that fit a filter, with what their turns took.
SELECT inbox.seq, inbox.id, inbox.received_at, inbox.person_id, inbox.platform, inbox.lane,
    inbox.state, inbox.outcome, inbox.done_at, interactions.agent, interactions.llm_backend,
    interactions.tokens_in, interactions.tokens_out, interactions.cost_usd, interactions.unpriced
FROM json_each(?1) CROSS JOIN inbox ON inbox.seq = json_each.value
    LEFT JOIN interactions ON interactions.message_id = inbox.id
WHERE inbox.control = 0
    AND (?2 = '' OR inbox.person_id = ?2)
    AND (?3 = '' OR inbox.platform = ?3)
    AND (?4 = '' OR interactions.agent = ?4)
    AND (?5 = '' OR interactions.llm_backend = ?5)
    AND (?6 = '' OR coalesce(inbox.outcome, 'open') = ?6)
    AND (?7 IS NULL OR interactions.cost_usd >= ?7)
    AND (?8 IS NULL OR inbox.received_at >= ?8)
    AND (?9 IS NULL OR inbox.received_at <= ?9);
