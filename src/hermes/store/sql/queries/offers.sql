-- name: add
-- The answers under a message.
INSERT INTO offers (id, delivery, message_id, platform, lane, who, subject, body, expires_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (id) DO NOTHING;

-- name: get
-- An offer, the chat where it was made, whose it is, and what is known of the message with it.
SELECT offers.platform, chat_id, lane, who, offers.body, expires_at, subject, chosen_by, person_id, delivery,
    platform_message_id IS NOT NULL, (fresh = 1 OR coalesce(failure, '') = 'edit_rejected')
FROM offers JOIN outbox ON outbox.id = offers.delivery WHERE offers.id = ?1;

-- name: press
-- A message presses an answer, if nobody has before and it is in time.
UPDATE offers SET chosen = ?2, chosen_by = ?3
WHERE id = ?1 AND chosen IS NULL AND expires_at > ?4;

-- name: supersede
-- A question was answered: what was offered for it and not pressed counts no more.
UPDATE offers SET chosen = -1, chosen_by = ?3
WHERE message_id = ?1 AND subject = ?2 AND chosen IS NULL;

-- name: posted
-- The delivery of a posted message, by its platform's id, and the approval that it asks for.
SELECT id, message_id, purpose,
    (SELECT approvals.id FROM approvals WHERE approvals.id = 'a_' || substr(outbox.id, 3))
FROM outbox
WHERE platform = ?1 AND chat_id = ?2 AND id IN (
    SELECT id FROM outbox INDEXED BY outbox_posted WHERE platform_message_id = ?3
    UNION ALL
    SELECT delivery FROM outbox_parts WHERE platform_message_id = ?3
)
ORDER BY seq DESC LIMIT 1;

-- name: ended
-- Posted questions with buttons whose end is not shown: they were pressed, decided otherwise, or are too old.
SELECT offers.id, delivery, offers.message_id, person_id, target, platform_message_id, outbox.body, chosen,
    approvals.state, subject, story
FROM offers JOIN outbox ON outbox.id = offers.delivery
    LEFT JOIN approvals ON approvals.id = offers.subject
WHERE offers.platform = ?1 AND shown = 0
    AND outbox.state = 'sent' AND platform_message_id IS NOT NULL
    AND (chosen IS NOT NULL OR offers.expires_at <= ?2
        OR (subject IS NOT NULL AND coalesce(approvals.state, 'expired') <> 'waiting'))
ORDER BY offers.id LIMIT ?3;

-- name: vanishing
-- Posted notices whose time is up.
SELECT id, message_id, target, platform_message_id FROM outbox INDEXED BY outbox_vanishing
WHERE vanish_s > 0 AND platform = ?1 AND ended_at <= ?2 AND state = 'sent' AND ended_at + vanish_s <= ?2
ORDER BY ended_at LIMIT ?3;

-- name: show
-- A message shows how its question ended.
UPDATE offers SET shown = 1 WHERE id = ?1;

-- name: vanished
-- A notice is gone.
UPDATE outbox SET vanish_s = 0 WHERE id = ?1;

-- name: is_in_doubt
-- Whether something may have been posted in a chat without its id being known.
SELECT 1 FROM outbox
WHERE platform = ?1 AND chat_id = ?2 AND state NOT IN ('sent', 'dead')
    AND (sending_at IS NOT NULL OR state IN ('preview', 'unknown')) LIMIT 1;

-- name: knows_early
-- Whether a reaction is kept already.
SELECT 1 FROM early_reactions WHERE id = ?1;

-- name: keep_early
-- A reaction that came before its message was known.
INSERT INTO early_reactions (id, platform, chat_id, platform_message_id, person_id, body, at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: early
-- Reactions of which the message is known now, in the order in which they came.
SELECT id, person_id, body FROM early_reactions AS early
WHERE EXISTS (
    SELECT 1 FROM outbox INDEXED BY outbox_posted
    WHERE outbox.platform_message_id = early.platform_message_id
        AND outbox.platform = early.platform AND outbox.chat_id = early.chat_id
) OR EXISTS (
    SELECT 1 FROM outbox_parts JOIN outbox ON outbox.id = delivery
    WHERE outbox_parts.platform_message_id = early.platform_message_id
        AND outbox.platform = early.platform AND outbox.chat_id = early.chat_id
)
ORDER BY at, id LIMIT ?1;

-- name: old_early
-- Reactions that are too old, and those beyond the newest.
SELECT id FROM early_reactions WHERE at < ?1
UNION
SELECT id FROM (SELECT id FROM early_reactions ORDER BY at DESC LIMIT 1000000 OFFSET ?2) AS surplus;

-- name: early_of
-- Reactions of a person.
SELECT id FROM early_reactions WHERE person_id = ?1;

-- name: early_body
-- The body of a reaction.
SELECT body FROM early_reactions WHERE id = ?1;

-- name: drop_early
-- A reaction was handed on, or is too old.
DELETE FROM early_reactions WHERE id = ?1;
