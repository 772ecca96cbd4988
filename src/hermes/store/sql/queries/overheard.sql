-- name: add_message
-- A message that is no turn: it ends as it is kept.
INSERT INTO inbox (id, account, platform, route, external_id, digest, lane, control, busy,
    person_id, body, state, outcome, received_at, done_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, 'queue', ?8, ?9, 'done', 'overheard', ?10, ?10);

-- name: keep
-- Its words are at hand until the bot is spoken to in its chat.
INSERT INTO overheard (chat, thread, message_id, person_id, body, chars, at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: of_chat
-- What is at hand of a chat, the newest first.
SELECT id, message_id, body, chars, at FROM overheard INDEXED BY overheard_chat
WHERE chat = ?1 ORDER BY id DESC;

-- name: missed
-- What is at hand of a chat in two of its threads, in order.
SELECT id, message_id, body, at, person_id FROM overheard INDEXED BY overheard_chat
WHERE chat = ?1 AND thread IN (?2, ?3) ORDER BY id;

-- name: of_person
-- What is at hand of a person's words.
SELECT id, message_id, body FROM overheard WHERE person_id = ?1;

-- name: old
-- What was said too long ago to be of use.
SELECT id, message_id, body FROM overheard WHERE at < ?1 ORDER BY at LIMIT ?2;

-- name: drop
-- It is not at hand any more.
DELETE FROM overheard WHERE id = ?1;

-- name: forget_body
-- The message stays known, without its words; no body has the number 0.
UPDATE inbox SET body = 0 WHERE id = ?1;

-- name: bot_turns
-- How many turns in a row bots have had in a chat.
SELECT turns FROM bot_turns WHERE chat = ?1;

-- name: count_bot_turn
-- A bot gets one more.
INSERT INTO bot_turns (chat, turns) VALUES (?1, 1)
ON CONFLICT (chat) DO UPDATE SET turns = bot_turns.turns + 1;

-- name: person_wrote
-- A person wrote there.
DELETE FROM bot_turns WHERE chat = ?1;
