-- name: paused
-- Platforms that rest.
SELECT platform, at FROM paused_channels ORDER BY platform;

-- name: pause
-- A platform rests from now on.
INSERT INTO paused_channels (platform, at) VALUES (?1, ?2) ON CONFLICT DO NOTHING;

-- name: resume
-- A platform rests no longer; returns since when it did.
DELETE FROM paused_channels WHERE platform = ?1 RETURNING at;

-- name: spare
-- The time of a rest makes no reply older; ?2 is when it began, ?3 when it ended.
UPDATE outbox SET created_at = created_at + (?3 - CASE WHEN created_at > ?2 THEN created_at ELSE ?2 END)
WHERE platform = ?1 AND state NOT IN ('sent', 'dead') AND created_at < ?3;

-- name: last_in
-- When a platform last brought a message, as the sessions that were used last know it.
SELECT max((
    SELECT received_at FROM inbox INDEXED BY inbox_lane
    WHERE lane = used.key AND platform = ?1 ORDER BY seq DESC LIMIT 1
))
FROM (
    SELECT key FROM lanes INDEXED BY lanes_used
    WHERE platform = ?1 ORDER BY used_at DESC LIMIT 8
) AS used;

-- name: last_out
-- When a platform last took something: a reply in the sessions that were used last, or anything of the newest.
SELECT max(ended_at) FROM (
    SELECT outbox.ended_at AS ended_at
    FROM (
        SELECT key FROM lanes INDEXED BY lanes_used
        WHERE platform = ?1 ORDER BY used_at DESC LIMIT 8
    ) AS used
    JOIN inbox INDEXED BY inbox_lane ON inbox.lane = used.key
        AND inbox.seq >= coalesce((
            SELECT seq FROM inbox INDEXED BY inbox_lane
            WHERE lane = used.key ORDER BY seq DESC LIMIT 1 OFFSET 8
        ), 0)
    JOIN outbox INDEXED BY outbox_message ON outbox.message_id = inbox.id
    WHERE outbox.platform = ?1 AND outbox.state = 'sent'
    UNION ALL
    SELECT ended_at FROM outbox
    WHERE seq > (SELECT max(seq) FROM outbox) - 500 AND platform = ?1 AND state = 'sent'
);

-- name: dead_letters
-- Replies that were given up or are held, the newest first.
SELECT id, seq, message_id, person_id, target, body, state, purpose, platform_message_id, chunk,
    attempts, next_at, created_at, sending_at, failure, more, fresh, failed,
    story, ended_at, stopped_by, most, vanish_s
FROM outbox WHERE seq IN (
    SELECT seq FROM outbox INDEXED BY outbox_dead
    WHERE state = 'dead' AND coalesce(failure, '') <> 'dropped' AND (?1 = '' OR platform = ?1)
    UNION ALL
    SELECT seq FROM outbox INDEXED BY outbox_open
    WHERE state NOT IN ('sent', 'dead') AND state = 'unknown' AND held = 1
        AND (?1 = '' OR platform = ?1)
)
ORDER BY seq DESC LIMIT ?2;

-- name: dead_letter
-- One of them.
SELECT id, seq, message_id, person_id, target, body, state, purpose, platform_message_id, chunk,
    attempts, next_at, created_at, sending_at, failure, more, fresh, failed,
    story, ended_at, stopped_by, most, vanish_s
FROM outbox
WHERE id = ?1 AND ((state = 'dead' AND coalesce(failure, '') <> 'dropped') OR (state = 'unknown' AND held = 1));

-- name: replay
-- A reply that was given up is as new; what has arrived of it stays.
UPDATE outbox SET state = 'pending', failure = NULL, attempts = 0, held = 0, next_at = ?2,
    created_at = ?2, sending_at = NULL, ended_at = NULL, stopped_by = NULL
WHERE id = ?1 AND body IS NOT NULL
    AND ((state = 'dead' AND coalesce(failure, '') <> 'dropped') OR (state = 'unknown' AND held = 1));

-- name: drop
-- Nobody wants it sent any more.
UPDATE outbox SET state = 'dead', failure = 'dropped', held = 0, ended_at = ?2
WHERE id = ?1
    AND ((state = 'dead' AND coalesce(failure, '') <> 'dropped') OR (state = 'unknown' AND held = 1));

-- name: old_letters
-- Replies that were given up, or left to the operator, before then.
SELECT id FROM outbox INDEXED BY outbox_dead
WHERE state = 'dead' AND ended_at < ?1 AND coalesce(failure, '') <> 'dropped'
UNION ALL
SELECT id FROM outbox INDEXED BY outbox_open
WHERE state NOT IN ('sent', 'dead') AND state = 'unknown' AND held = 1 AND next_at < ?1
LIMIT ?2;

-- name: session_platforms
-- The platforms that have sessions, one step along the index for each.
WITH RECURSIVE found (platform) AS (
    SELECT min(platform) FROM lanes INDEXED BY lanes_used
    UNION ALL
    SELECT (SELECT min(platform) FROM lanes INDEXED BY lanes_used WHERE platform > found.platform)
    FROM found WHERE found.platform IS NOT NULL
)
SELECT platform FROM found WHERE platform IS NOT NULL;

-- name: sessions
-- Sessions of a platform that have not ended, the most recently used first.
SELECT key, epoch, platform, person_id, turns, used_at, waiting_on IS NOT NULL OR EXISTS (
    SELECT 1 FROM inbox INDEXED BY inbox_open WHERE lane = lanes.key AND state <> 'done'
)
FROM lanes INDEXED BY lanes_used
WHERE platform = ?1 AND ended_at IS NULL AND head > 0
    AND key NOT LIKE '%/%' AND key NOT LIKE '%#%'
ORDER BY used_at DESC LIMIT ?2;

-- name: sessions_of_person
-- Those of a person.
SELECT key, epoch, platform, person_id, turns, used_at, waiting_on IS NOT NULL OR EXISTS (
    SELECT 1 FROM inbox INDEXED BY inbox_open WHERE lane = lanes.key AND state <> 'done'
)
FROM lanes INDEXED BY lanes_person
WHERE person_id = ?1 AND ended_at IS NULL AND head > 0
    AND key NOT LIKE '%/%' AND key NOT LIKE '%#%'
ORDER BY used_at DESC LIMIT ?2;

-- name: session
-- One of them.
SELECT key, epoch, platform, person_id, turns, used_at, waiting_on IS NOT NULL OR EXISTS (
    SELECT 1 FROM inbox INDEXED BY inbox_open WHERE lane = lanes.key AND state <> 'done'
)
FROM lanes
WHERE key = ?1 AND ended_at IS NULL AND head > 0 AND key NOT LIKE '%/%' AND key NOT LIKE '%#%';

-- name: swap
-- The default model that an operator chose.
SELECT value FROM meta WHERE key = 'model_swap';

-- name: set_swap
-- Keep the choice of a default model.
INSERT INTO meta (key, value) VALUES ('model_swap', ?1)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: drop_swap
-- The configuration decides about the default model again.
DELETE FROM meta WHERE key = 'model_swap';
