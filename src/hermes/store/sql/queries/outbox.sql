-- name: insert
-- A reply to send, or the final form of the preview that has the same id.
INSERT INTO outbox (id, message_id, person_id, platform, chat_id, target, body, state, purpose,
    next_at, created_at, ended_at, vanish_s)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, CASE CAST(?8 AS TEXT) WHEN 'sent' THEN CAST(?10 AS DOUBLE PRECISION) END,
    ?11)
ON CONFLICT (id) DO UPDATE SET body = excluded.body, created_at = excluded.created_at,
    next_at = excluded.next_at,
    state = CASE outbox.state WHEN 'preview' THEN excluded.state ELSE outbox.state END;

-- name: insert_preview
-- A preview, before its first send; one that is there belongs to the node that goes on with it.
INSERT INTO outbox (id, message_id, person_id, platform, chat_id, target, state, purpose,
    next_at, created_at, owner)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'preview', ?7, ?8, ?8, ?9)
ON CONFLICT (id) DO UPDATE SET owner = excluded.owner WHERE outbox.state IN ('preview', 'unknown');

-- name: preview_sent
-- The platform's id of a preview; one that a crash had made unknown is found again by it.
UPDATE outbox SET platform_message_id = ?2, state = 'preview', failure = NULL, owner = ?3
WHERE id = ?1 AND state IN ('preview', 'unknown');

-- name: preview_opens
-- One more message is about to be sent to show a reply: it may stand from now on.
UPDATE outbox SET more = ?2, owner = ?3
WHERE id = ?1 AND state IN ('preview', 'unknown') AND more = ?2 - 1;

-- name: add_more
-- The row of that message; it has no id yet.
INSERT INTO outbox_more (delivery, number) VALUES (?1, ?2);

-- name: preview_not_sent
-- The message that was about to be sent certainly was not.
UPDATE outbox SET more = ?2 - 1, owner = ?3
WHERE id = ?1 AND state IN ('preview', 'unknown') AND more = ?2
    AND EXISTS (SELECT 1 FROM outbox_more
        WHERE delivery = ?1 AND number = ?2 AND platform_message_id IS NULL);

-- name: drop_more
-- The row of a message that was not sent; `preview_not_sent` has just found it without an id.
DELETE FROM outbox_more WHERE delivery = ?1 AND number = ?2;

-- name: preview_went_on
-- The platform's id of one more message; a row that a crash had made unknown is found again by it.
UPDATE outbox SET state = 'preview', failure = NULL, owner = ?3
WHERE id = ?1 AND state IN ('preview', 'unknown') AND more = ?2
    AND EXISTS (SELECT 1 FROM outbox_more
        WHERE delivery = ?1 AND number = ?2 AND platform_message_id IS NULL);

-- name: name_more
-- The platform's id of that message.
UPDATE outbox_more SET platform_message_id = ?3 WHERE delivery = ?1 AND number = ?2;

-- name: more
-- The platform's ids of the further messages of a delivery, in order.
SELECT platform_message_id FROM outbox_more WHERE delivery = ?1 ORDER BY number;

-- name: fresh
-- What shows the reply is too old: it is sent anew, and what showed it is taken back afterwards.
UPDATE outbox SET fresh = 1 WHERE id = ?1 AND state IN ('pending', 'retry');

-- name: is_shown
-- Whether a delivery has a message on its platform.
SELECT 1 FROM outbox WHERE id = ?1 AND platform_message_id IS NOT NULL;

-- name: get
-- One delivery.
SELECT id, seq, message_id, person_id, target, body, state, purpose, platform_message_id, chunk,
    attempts, next_at, created_at, sending_at, failure, more, fresh, failed,
    story, ended_at, stopped_by, most, vanish_s
FROM outbox WHERE id = ?1;

-- name: of_message
-- The deliveries of a message.
SELECT id, seq, message_id, person_id, target, body, state, purpose, platform_message_id, chunk,
    attempts, next_at, created_at, sending_at, failure, more, fresh, failed,
    story, ended_at, stopped_by, most, vanish_s
FROM outbox WHERE message_id = ?1 ORDER BY seq;

-- name: message_of
-- The message that a delivery answers; one that answers none is its own.
SELECT message_id FROM outbox WHERE id = ?1;

-- name: due
-- What may be sent now: each chat's oldest open reply whose time has come, or is impossibly far away.
SELECT id, seq, message_id, person_id, target, body, state, purpose, platform_message_id, chunk,
    attempts, next_at, created_at, sending_at, failure, more, fresh, failed,
    story, ended_at, stopped_by, most, vanish_s
FROM outbox AS reply
WHERE platform = ?1 AND state NOT IN ('sent', 'dead') AND state IN ('pending', 'retry')
    AND (next_at <= ?2 OR next_at > ?2 + ?4)
    AND NOT EXISTS (
        SELECT 1 FROM outbox AS earlier
        WHERE earlier.platform = reply.platform AND earlier.chat_id = reply.chat_id
            AND earlier.seq < reply.seq AND earlier.state NOT IN ('sent', 'dead')
            AND earlier.state IN ('pending', 'sending', 'retry')
    )
ORDER BY seq LIMIT ?3;

-- name: next_due_at
-- When the next waiting reply of a platform becomes due.
SELECT min(next_at) FROM outbox
WHERE platform = ?1 AND state NOT IN ('sent', 'dead') AND state IN ('pending', 'retry');

-- name: sent_since
-- Where and when the last messages of a platform were sent, and how many of each reply, the newest first.
SELECT chat_id, sending_at, CASE WHEN chunk > 0 THEN chunk ELSE 1 END FROM outbox
WHERE seq > coalesce((SELECT max(seq) FROM outbox), 0) - 10000
    AND platform = ?1 AND sending_at > ?2
ORDER BY sending_at DESC LIMIT ?3;

-- name: unsettled
-- Replies of which nobody knows whether they arrived and which policy may still settle.
SELECT id, seq, message_id, person_id, target, body, state, purpose, platform_message_id, chunk,
    attempts, next_at, created_at, sending_at, failure, more, fresh, failed,
    story, ended_at, stopped_by, most, vanish_s
FROM outbox
WHERE platform = ?1 AND state = 'unknown' AND held = 0 AND body IS NOT NULL
ORDER BY seq LIMIT 100;

-- name: handle
-- The message that a delivery answers, if it has a reply handle: whose it is, and how often it was used.
SELECT inbox.id, inbox.person_id, inbox.body, received_at, handle_used, handle_key, handle_number,
    outbox.chat_id
FROM outbox JOIN inbox ON inbox.id = outbox.message_id
WHERE outbox.id = ?1 AND handle_used IS NOT NULL;

-- name: use_handle
-- One more send carries the handle.
UPDATE inbox SET handle_used = ?2 WHERE id = ?1;

-- name: number_handle
-- Which use of the handle the send of a key is.
UPDATE outbox SET handle_key = ?2, handle_number = ?3 WHERE id = ?1;

-- name: sending
-- A chunk is on the wire of this node from now on, unless the person stopped the reply unnoticed.
-- The limit of messages stays the one with which the first began. What repeats a preview in doubt has no
-- time: its key may be that of the preview.
UPDATE outbox SET state = 'sending', chunk = ?2, owner = ?4,
    sending_at = CASE WHEN state = 'unknown' AND sending_at IS NULL THEN NULL ELSE ?3 END,
    most = coalesce(most, ?6), last = ?7
WHERE id = ?1 AND state IN ('pending', 'retry', 'unknown', 'sending')
    AND (stopped_by IS NULL OR ?5 = 1)
    AND NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = ?4 AND nodes.buried_at IS NOT NULL);

-- name: chunk_sent
-- A chunk has arrived; the first one's id is the reply's, and the next chunk is not on the wire.
UPDATE outbox SET chunk = ?2 + 1, platform_message_id = coalesce(platform_message_id, ?3),
    state = CASE WHEN ?4 = 1 THEN 'sent' ELSE 'pending' END,
    ended_at = CASE WHEN ?4 = 1 THEN CAST(?5 AS DOUBLE PRECISION) END, failure = NULL,
    sending_at = coalesce(sending_at, ?5)
WHERE id = ?1 AND state = 'sending';

-- name: add_part
-- The platform's id of one more message of a delivery.
INSERT INTO outbox_parts (platform_message_id, delivery) VALUES (?1, ?2) ON CONFLICT DO NOTHING;

-- name: retry
-- Try again later.
UPDATE outbox SET state = 'retry', next_at = ?2, failure = ?3, attempts = attempts + ?4
WHERE id = ?1 AND state IN ('pending', 'sending', 'retry', 'unknown');

-- name: unknown
-- Nobody knows whether it arrived; a failure that says how it was sent stays.
UPDATE outbox SET state = 'unknown', failure = coalesce(failure, 'network_timeout'), next_at = ?2
WHERE id = ?1 AND state IN ('sending', 'preview');

-- name: hold
-- Leave it to the operator.
UPDATE outbox SET held = 1, next_at = ?2 WHERE id = ?1 AND state = 'unknown';

-- name: dead
-- It will not be sent.
UPDATE outbox SET state = 'dead', failure = ?2, ended_at = ?3
WHERE id = ?1 AND state NOT IN ('sent', 'dead');

-- name: stopped
-- The person stopped it: nobody has to deal with what was not sent.
UPDATE outbox SET state = 'dead', failure = 'dropped', ended_at = ?2
WHERE id = ?1 AND state NOT IN ('sent', 'dead') AND stopped_by IS NOT NULL;

-- name: is_sending
-- Whether a reply of a session is posted in part, or being sent, to a chat.
SELECT 1 FROM outbox
WHERE platform = ?2 AND chat_id = ?3 AND state NOT IN ('sent', 'dead')
    AND state IN ('pending', 'sending', 'retry', 'unknown') AND held = 0 AND body IS NOT NULL
    AND purpose = 'reply' AND stopped_by IS NULL
    AND (chunk > 0 OR platform_message_id IS NOT NULL OR state = 'sending')
    AND EXISTS (SELECT 1 FROM inbox
        WHERE inbox.id = outbox.message_id AND inbox.lane = ?1 AND inbox.control = 0)
LIMIT 1;

-- name: stop_sending
-- A person stops the replies of their session that are posted in part, or being sent, to a chat.
UPDATE outbox SET stopped_by = ?4, next_at = ?5
WHERE platform = ?2 AND chat_id = ?3 AND state NOT IN ('sent', 'dead')
    AND state IN ('pending', 'sending', 'retry', 'unknown') AND held = 0 AND body IS NOT NULL
    AND purpose = 'reply' AND stopped_by IS NULL
    AND (chunk > 0 OR platform_message_id IS NOT NULL OR state = 'sending')
    AND EXISTS (SELECT 1 FROM inbox
        WHERE inbox.id = outbox.message_id AND inbox.lane = ?1 AND inbox.control = 0);

-- name: returned
-- The platform had taken it, or a part of it, and brought it back: sent again, it begins with that.
UPDATE outbox SET state = 'dead', failure = ?3, held = 0, ended_at = ?4, chunk = CASE WHEN chunk < ?5 THEN chunk ELSE ?5 END,
    platform_message_id = CASE WHEN ?5 > 0 THEN platform_message_id END
WHERE id = ?1 AND platform = ?2 AND state NOT IN ('dead', 'preview') AND sending_at IS NOT NULL
RETURNING message_id;

-- name: in_doubt
-- What of a delivery may have arrived: whether it is a preview's message, and whether its id is known.
SELECT message_id, sending_at, more, state,
    ?4 = 0 AND coalesce(failure, '') <> 'possible_repeat' AND (?3 > 0 OR platform_message_id IS NOT NULL)
FROM outbox
WHERE id = ?1 AND platform = ?2 AND chunk = ?3 AND state IN ('unknown', 'sending', 'retry', 'pending')
    AND (fresh = 1 OR coalesce(failure, '') = 'edit_rejected') = (?4 = 1)
    AND (sending_at IS NOT NULL OR state = 'unknown');

-- name: settled
-- The platform says that the message on the wire arrived.
UPDATE outbox SET chunk = chunk + 1, platform_message_id = coalesce(platform_message_id, ?2), held = 0,
    state = CASE WHEN last = 1 THEN 'sent' ELSE 'pending' END, failure = NULL,
    ended_at = CASE WHEN last = 1 THEN CAST(?3 AS DOUBLE PRECISION) END
WHERE id = ?1;

-- name: preview_found
-- The platform says that what began to show a reply arrived: it is edited to show the whole of it.
UPDATE outbox SET platform_message_id = coalesce(platform_message_id, ?2), held = 0, failure = NULL,
    state = CASE WHEN body IS NULL THEN 'preview' ELSE 'pending' END
WHERE id = ?1;

-- name: more_found
-- As before, of one of its further messages; 0 rows if its id is known.
UPDATE outbox_more SET platform_message_id = ?3
WHERE delivery = ?1 AND number = ?2 AND platform_message_id IS NULL;

-- name: story
-- What is noted of a delivery, and whose key opens it.
SELECT person_id, story FROM outbox WHERE id = ?1;

-- name: tell
-- One more note of a delivery, and one more failed send if it was one.
UPDATE outbox SET failed = failed + ?2, story = ?3 WHERE id = ?1;

-- name: on_the_wire
-- What a dead node had on the wire.
SELECT id FROM outbox
WHERE state NOT IN ('sent', 'dead') AND state = 'sending' AND owner = ?1;

-- name: close_preview
-- What a message that is abandoned had shown is not followed by a reply.
UPDATE outbox SET state = 'dead', failure = 'rejected', ended_at = ?2
WHERE message_id = ?1 AND state NOT IN ('sent', 'dead') AND body IS NULL;

-- name: has_expired
-- Whether a platform that nobody serves has a reply that is too old.
SELECT 1 FROM outbox INDEXED BY outbox_open
WHERE state NOT IN ('sent', 'dead') AND state IN ('pending', 'retry', 'unknown') AND held = 0
    AND created_at < ?1 AND platform NOT IN (SELECT value FROM json_each(?2))
LIMIT 1;

-- name: expire
-- Replies of platforms that nobody serves die of age too.
UPDATE outbox INDEXED BY outbox_open SET state = 'dead', failure = 'too_old', ended_at = ?2
WHERE state NOT IN ('sent', 'dead') AND state IN ('pending', 'retry', 'unknown') AND held = 0
    AND created_at < ?1 AND platform NOT IN (SELECT value FROM json_each(?3))
RETURNING id;

-- name: count_waiting
-- How many replies are still on their way.
SELECT count(*) FROM outbox
WHERE state NOT IN ('sent', 'dead') AND state <> 'unknown' AND platform = coalesce(?1, platform);

-- name: recover
-- What a dead node had on the wire is unknown.
UPDATE outbox SET state = 'unknown', failure = coalesce(failure, 'network_timeout')
WHERE state NOT IN ('sent', 'dead') AND owner = ?1
    AND (state = 'sending' OR (state = 'preview' AND (platform_message_id IS NULL
        OR EXISTS (SELECT 1 FROM outbox_more WHERE delivery = outbox.id
            AND number = outbox.more AND platform_message_id IS NULL))));
