-- name: lanes
-- The lanes that belong to a person, with the chat of each.
SELECT key, platform, chat_id FROM lanes WHERE person_id = ?1;

-- name: channels
-- Under which ids a person is known.
SELECT platform, user_id FROM user_channels WHERE person_id = ?1;

-- name: erased_lanes
-- The lanes of people who were erased, except those that name nobody.
SELECT person_id, key FROM people INDEXED BY people_erased JOIN lanes INDEXED BY lanes_person
    ON lanes.person_id = people.id
WHERE erased_at IS NOT NULL AND key NOT LIKE '%:erased-%';

-- name: end_replies
-- What is not on the wire to an erased person's chat cannot be sent any more: nothing of it can be read.
UPDATE outbox SET state = 'dead', failure = 'rejected', held = 0, ended_at = ?4
WHERE platform = ?1 AND chat_id = ?2 AND state NOT IN ('sent', 'dead')
    AND state IN ('pending', 'retry', 'unknown') AND person_id = ?3;

-- name: is_busy
-- Whether a session or what it started is at work, or something is on the wire to its chat.
SELECT EXISTS (
    SELECT 1 FROM inbox INDEXED BY inbox_open
    WHERE lane IN (?1, ?1 || '#control') AND state <> 'done'
) OR EXISTS (
    SELECT 1 FROM inbox INDEXED BY inbox_open
    WHERE lane > ?1 || '/' AND lane < ?1 || '0' AND state <> 'done'
) OR EXISTS (
    SELECT 1 FROM lanes WHERE owner IS NOT NULL
        AND (key IN (?1, ?1 || '#control') OR (key > ?1 || '/' AND key < ?1 || '0'))
) OR EXISTS (
    SELECT 1 FROM outbox
    WHERE platform = ?2 AND chat_id = ?3 AND state NOT IN ('sent', 'dead') AND person_id = ?4
);

-- name: owner
-- Whose session it is.
SELECT person_id FROM lanes WHERE key = ?1;

-- name: heir
-- Who else has written in a session, the last of them: it is theirs, too.
SELECT person_id FROM inbox INDEXED BY inbox_lane
WHERE lane = ?1 AND control = 0 AND person_id <> ?2
    AND EXISTS (SELECT 1 FROM people WHERE people.id = person_id AND erased_at IS NULL)
ORDER BY seq DESC LIMIT 1;

-- name: inherit
-- A session belongs to somebody else who writes in it.
UPDATE lanes SET person_id = ?2 WHERE person_id = ?3
    AND (key IN (?1, ?1 || '#control') OR (key > ?1 || '/' AND key < ?1 || '0'));

-- name: messages
-- The messages of a session and of all that it started; of one person, unless it is ''.
SELECT id, external_id FROM inbox INDEXED BY inbox_lane
WHERE lane IN (?1, ?1 || '#control') AND (?2 = '' OR person_id = ?2)
UNION ALL
SELECT id, external_id FROM inbox INDEXED BY inbox_lane
WHERE lane > ?1 || '/' AND lane < ?1 || '0' AND (?2 = '' OR person_id = ?2);

-- name: hide_message
-- A message is known by another name, in a session of another name.
UPDATE inbox SET lane = ?3 || substr(lane, length(CAST(?2 AS TEXT)) + 1), external_id = ?4 WHERE id = ?1;

-- name: hide_lanes
-- A session and what it started have another name.
UPDATE lanes SET key = ?2 || substr(key, length(CAST(?1 AS TEXT)) + 1),
    chat_id = CASE CAST(?3 AS TEXT) WHEN '' THEN chat_id ELSE ?3 END
WHERE key IN (?1, ?1 || '#control') OR (key > ?1 || '/' AND key < ?1 || '0');

-- name: hide_writers
-- So has who wrote in it.
UPDATE lane_writers SET lane = ?2, user_id = '' WHERE lane = ?1;

-- name: drop_souls
-- What a conversation began with is sealed for the erased person and for its place.
DELETE FROM souls WHERE lane IN (?1, ?1 || '#control') OR (lane > ?1 || '/' AND lane < ?1 || '0');

-- name: graphs
-- The conversations of a session and of all that it started.
SELECT id, name FROM graphs WHERE (name > ?1 || '#' AND name < ?1 || '$')
    OR (name > ?1 || '/' AND name < ?1 || '0');

-- name: name_graph
-- A conversation has another name.
UPDATE graphs SET name = ?2 WHERE id = ?1;

-- name: set_move
-- A line of a branch's log, under the name that its graph has now.
UPDATE moves SET data = ?4 WHERE graph = ?1 AND branch = ?2 AND number = ?3;

-- name: set_call
-- A call, under the name that its graph has now.
UPDATE calls SET data = ?4 WHERE graph = ?1 AND branch = ?2 AND number = ?3;

-- name: set_link
-- A link, under the names that the graphs have now.
UPDATE links SET data = ?3 WHERE graph = ?1 AND number = ?2;

-- name: set_thumb
-- A thumb, under the name that its graph has now.
UPDATE feedback SET data = ?3 WHERE graph = ?1 AND number = ?2;

-- name: moves
-- The logs of a graph.
SELECT branch, number, data FROM moves WHERE graph = ?1;

-- name: calls
-- The calls of a graph.
SELECT branch, number, id, person_id, tokens, data FROM calls WHERE graph = ?1;

-- name: links
-- The links of a graph.
SELECT number, data FROM links WHERE graph = ?1;

-- name: thumbs
-- The thumbs of a graph.
SELECT number, person_id, reason, data FROM feedback WHERE graph = ?1;

-- name: deliveries
-- What a session of this name has sent to a chat.
SELECT id, target FROM outbox WHERE message_id IN (
    SELECT id FROM inbox INDEXED BY inbox_lane WHERE lane IN (?1, ?1 || '#control')
    UNION ALL SELECT id FROM inbox INDEXED BY inbox_lane WHERE lane > ?1 || '/' AND lane < ?1 || '0'
) AND platform = ?2 AND chat_id = ?3;

-- name: deliveries_of
-- What all messages of a person have sent, and what operators sent to them, wherever it went.
SELECT outbox.id, outbox.platform, chat_id, target FROM inbox INDEXED BY inbox_person
    JOIN outbox INDEXED BY outbox_message ON outbox.message_id = inbox.id
WHERE inbox.person_id = ?1 AND control = 0
UNION ALL
SELECT id, platform, chat_id, target FROM outbox INDEXED BY outbox_sends
WHERE person_id = ?1 AND message_id = id;

-- name: hide_delivery
-- Nobody can tell where a delivery went, and nothing of it is changed any more.
UPDATE outbox SET chat_id = ?2, target = ?3, platform_message_id = NULL, more = 0, handle_key = NULL,
    vanish_s = 0
WHERE id = ?1;

-- name: drop_parts
-- The platform's ids of its further messages.
DELETE FROM outbox_parts WHERE delivery = ?1;

-- name: drop_more
-- The platform's ids of the messages that showed it.
DELETE FROM outbox_more WHERE delivery = ?1;

-- name: hide_offers
-- What a session of this name asks is not changed any more.
UPDATE offers SET shown = 1, lane = ?1 || substr(lane, length(CAST(?2 AS TEXT)) + 1)
WHERE (lane = ?2 OR (lane > ?2 || '#' AND lane < ?2 || '0')) AND message_id IN (
    SELECT id FROM inbox INDEXED BY inbox_lane WHERE lane IN (?1, ?1 || '#control')
    UNION ALL SELECT id FROM inbox INDEXED BY inbox_lane WHERE lane > ?1 || '/' AND lane < ?1 || '0'
);

-- name: hide_approvals
-- The questions of a session of this name.
UPDATE approvals SET lane = ?1 || substr(lane, length(CAST(?2 AS TEXT)) + 1)
WHERE (lane = ?2 OR (lane > ?2 || '#' AND lane < ?2 || '0')) AND message_id IN (
    SELECT id FROM inbox INDEXED BY inbox_lane WHERE lane IN (?1, ?1 || '#control')
    UNION ALL SELECT id FROM inbox INDEXED BY inbox_lane WHERE lane > ?1 || '/' AND lane < ?1 || '0'
);

-- name: hide_events
-- The timelines of a session of this name, where they name the person.
UPDATE events SET data = replace(data, ?2, ?3) WHERE replace(data, ?2, '') <> data AND message_id IN (
    SELECT id FROM inbox INDEXED BY inbox_lane WHERE lane IN (?1, ?1 || '#control')
    UNION ALL SELECT id FROM inbox INDEXED BY inbox_lane WHERE lane > ?1 || '/' AND lane < ?1 || '0'
);

-- name: hide_steps
-- The steps of a session of this name, where they name the person.
UPDATE steps SET name = replace(name, ?2, ?3), facts = replace(facts, ?2, ?3)
WHERE (replace(name, ?2, '') <> name OR replace(facts, ?2, '') <> facts) AND message_id IN (
    SELECT id FROM inbox INDEXED BY inbox_lane WHERE lane IN (?1, ?1 || '#control')
    UNION ALL SELECT id FROM inbox INDEXED BY inbox_lane WHERE lane > ?1 || '/' AND lane < ?1 || '0'
);

-- name: hide_requester
-- Who asked for something that needs an approval.
UPDATE approvals SET requester = ?2 WHERE requester = ?1;

-- name: hide_decider
-- Who decided it.
UPDATE approvals SET decided_by = ?2 WHERE decided_by = ?1;

-- name: hide_asked
-- Who may press a button.
UPDATE offers SET who = ?2 WHERE who = ?1;

-- name: hide_user_of_code
-- Who used somebody's code.
UPDATE link_codes SET used_by = ?2 WHERE used_by = ?1;

-- name: drop_wrong_codes
-- Who wrote wrong codes.
DELETE FROM wrong_codes WHERE platform = ?1 AND user_id = ?2;

-- name: drop_refusals
-- What was not accepted and names the person.
DELETE FROM refusals WHERE replace(external_id, ?1, '') <> external_id OR replace(text, ?1, '') <> text;
