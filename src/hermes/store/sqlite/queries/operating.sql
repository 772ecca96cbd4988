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
UPDATE outbox SET created_at = created_at + (?3 - max(created_at, ?2))
WHERE platform = ?1 AND state NOT IN ('sent', 'dead') AND created_at < ?3;

-- name: dead_letters
-- Replies that were given up or are held, the newest first.
SELECT id, seq, message_id, person_id, target, body, state, purpose, platform_message_id, chunk,
    attempts, next_at, created_at, sending_at, failure, more, fresh, failed,
    story, ended_at
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
    story, ended_at
FROM outbox
WHERE id = ?1 AND ((state = 'dead' AND coalesce(failure, '') <> 'dropped') OR (state = 'unknown' AND held = 1));

-- name: replay
-- A reply that was given up is as new; what has arrived of it stays.
UPDATE outbox SET state = 'pending', failure = NULL, attempts = 0, held = 0, next_at = ?2,
    created_at = ?2, sending_at = NULL, ended_at = NULL
WHERE id = ?1 AND body IS NOT NULL
    AND ((state = 'dead' AND coalesce(failure, '') <> 'dropped') OR (state = 'unknown' AND held = 1));

-- name: drop
-- Nobody wants it sent any more.
UPDATE outbox SET state = 'dead', failure = 'dropped', held = 0, ended_at = ?2
WHERE id = ?1
    AND ((state = 'dead' AND coalesce(failure, '') <> 'dropped') OR (state = 'unknown' AND held = 1));

-- name: sessions
-- Sessions that have not ended, the most recently used first.
SELECT key, epoch, platform, person_id, turns, used_at, waiting_on IS NOT NULL OR EXISTS (
    SELECT 1 FROM inbox INDEXED BY inbox_open WHERE lane = lanes.key AND state <> 'done'
)
FROM lanes
WHERE (?1 = '' OR platform = ?1) AND ended_at IS NULL AND head > 0
    AND instr(key, '/') = 0 AND instr(key, '#') = 0
ORDER BY used_at DESC LIMIT ?2;

-- name: session
-- One of them.
SELECT key, epoch, platform, person_id, turns, used_at, waiting_on IS NOT NULL OR EXISTS (
    SELECT 1 FROM inbox INDEXED BY inbox_open WHERE lane = lanes.key AND state <> 'done'
)
FROM lanes
WHERE key = ?1 AND ended_at IS NULL AND head > 0 AND instr(key, '/') = 0 AND instr(key, '#') = 0;
