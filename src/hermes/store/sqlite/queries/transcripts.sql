-- name: sessions
-- Sessions of every platform, the most recently used first.
SELECT key, platform, chat_id, person_id, epoch, head, used_at,
    (SELECT body FROM inbox WHERE inbox.lane = lanes.key AND inbox.epoch = lanes.epoch
        AND inbox.control = 0 ORDER BY seq LIMIT 1)
FROM lanes
WHERE head > 0
ORDER BY used_at DESC LIMIT ?1;

-- name: sessions_of_platform
-- Sessions of one platform, the most recently used first, read along its index.
SELECT key, platform, chat_id, person_id, epoch, head, used_at,
    (SELECT body FROM inbox WHERE inbox.lane = lanes.key AND inbox.epoch = lanes.epoch
        AND inbox.control = 0 ORDER BY seq LIMIT 1)
FROM lanes
WHERE platform = ?1 AND head > 0
ORDER BY used_at DESC LIMIT ?2;

-- name: epoch
-- The epoch that a session is in.
SELECT epoch FROM lanes WHERE key = ?1;

-- name: provenance
-- What the turn of a message took, and where its session is.
SELECT interactions.person_id, lanes.platform, lanes.chat_id, interactions.at, llm_backend,
    interactions.tokens_in, interactions.tokens_out, interactions.cost_usd, interactions.unpriced
FROM interactions JOIN lanes ON lanes.key = ?2
WHERE interactions.message_id = ?1;

-- name: messages
-- The newest messages of a session's current epoch, newest first.
SELECT seq, id, lane, person_id, body, state, busy, control, received_at, attempts, external_id,
    platform, outcome, done_at, merged_into, interrupted_by
FROM inbox
WHERE lane = ?1 AND control = 0 AND epoch = (SELECT epoch FROM lanes WHERE key = ?1)
ORDER BY seq DESC LIMIT ?2;
