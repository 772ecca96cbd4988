-- name: sessions
-- Sessions of every platform with whether an approval waits in them, the most recently used first.
SELECT key, platform, chat_id, person_id, epoch, head, used_at,
    (SELECT id FROM inbox INDEXED BY inbox_lane WHERE inbox.lane = lanes.key
        AND inbox.person_id = lanes.person_id AND inbox.control = 0 ORDER BY seq LIMIT 1),
    temporary, EXISTS (
        SELECT 1 FROM approvals WHERE state = 'waiting' AND approvals.id < 'q_' AND (
            lane = lanes.key OR (lane > lanes.key || '/' AND lane < lanes.key || '0')
        )
    )
FROM lanes
WHERE head > 0
ORDER BY used_at DESC LIMIT ?1;

-- name: sessions_of_platform
-- As `sessions`, of one platform, also those whose first message waits, along its index.
SELECT key, platform, chat_id, person_id, epoch, head, used_at,
    (SELECT id FROM inbox INDEXED BY inbox_lane WHERE inbox.lane = lanes.key
        AND inbox.person_id = lanes.person_id AND inbox.control = 0 ORDER BY seq LIMIT 1),
    temporary, EXISTS (
        SELECT 1 FROM approvals WHERE state = 'waiting' AND approvals.id < 'q_' AND (
            lane = lanes.key OR (lane > lanes.key || '/' AND lane < lanes.key || '0')
        )
    )
FROM lanes
WHERE platform = ?1 AND (head > 0 OR (key NOT LIKE '%/%' AND EXISTS (
    SELECT 1 FROM inbox INDEXED BY inbox_lane
    WHERE inbox.lane = lanes.key AND inbox.control = 0 AND inbox.body IS NOT NULL
)))
ORDER BY used_at DESC LIMIT ?2;

-- name: sessions_of_user
-- As `sessions_of_platform`, of one user of a person: names of sessions end with the user, those of old ones do not.
SELECT key, platform, chat_id, person_id, epoch, head, used_at,
    (SELECT id FROM inbox INDEXED BY inbox_lane WHERE inbox.lane = lanes.key
        AND inbox.person_id = lanes.person_id AND inbox.control = 0 ORDER BY seq LIMIT 1),
    temporary, EXISTS (
        SELECT 1 FROM approvals WHERE state = 'waiting' AND approvals.id < 'q_' AND (
            lane = lanes.key OR (lane > lanes.key || '/' AND lane < lanes.key || '0')
        )
    )
FROM lanes INDEXED BY lanes_person
WHERE person_id = ?1 AND platform = ?2
    AND (substr(key, length(key) - length(?3) + 1) = ?3 OR EXISTS (
        SELECT 1 FROM lane_writers WHERE lane_writers.lane = lanes.key AND user_id = ?4
    ))
    AND (head > 0 OR EXISTS (
        SELECT 1 FROM inbox INDEXED BY inbox_lane
        WHERE inbox.lane = lanes.key AND inbox.control = 0 AND inbox.body IS NOT NULL
    ))
ORDER BY used_at DESC LIMIT ?5;

-- name: epoch
-- The epoch that a session is in, and whether it is temporary.
SELECT epoch, temporary FROM lanes WHERE key = ?1;

-- name: provenance
-- What the turn of a message took, and where its session is.
SELECT interactions.person_id, lanes.platform, lanes.chat_id, interactions.at, llm_backend,
    interactions.tokens_in, interactions.tokens_out, interactions.cost_usd, interactions.unpriced
FROM interactions JOIN lanes ON lanes.key = ?2
WHERE interactions.message_id = ?1;

-- name: messages
-- The newest messages of a session before one; of epochs that have ended only those of one person, if one is given.
SELECT seq, id, lane, person_id, body, state, busy, control, received_at, attempts, external_id,
    platform, outcome, done_at, merged_into, interrupted_by, epoch
FROM inbox INDEXED BY inbox_lane
WHERE lane = ?1 AND seq < ?2 AND control = 0 AND (epoch = ?3 OR person_id = coalesce(?4, person_id))
ORDER BY seq DESC LIMIT ?5;

-- name: has_row
-- Whether the inbox still has the row of a message.
SELECT 1 FROM inbox WHERE id = ?1;

-- name: graphs
-- The graphs of a session up to a number, the newest first: one per epoch in which something was said.
SELECT id, name FROM graphs
WHERE rtrim(name, '0123456789') = ?1 || '#' AND id <= ?2 ORDER BY id DESC LIMIT ?3;

-- name: first_graph
-- The oldest graph of a session in which words of a person are left.
SELECT name FROM graphs JOIN refs ON refs.graph = graphs.id
WHERE rtrim(name, '0123456789') = ?1 || '#' AND refs.branch = 'main' AND refs.length > 0
    AND EXISTS (
        SELECT 1 FROM blobs
        WHERE blobs.graph = graphs.id AND blobs.name IS NOT NULL AND blobs.person_id = ?2
    )
ORDER BY graphs.id LIMIT 1;
