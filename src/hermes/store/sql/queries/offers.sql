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
