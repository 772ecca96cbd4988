-- name: message
-- Messages whose id begins with a part, and those of the newest whose id ends with it.
SELECT id FROM (
    SELECT id FROM (
        SELECT id FROM inbox WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id DESC LIMIT ?2
    )
    UNION
    SELECT id FROM (SELECT id FROM inbox ORDER BY id DESC LIMIT ?3)
    WHERE substr(id, -length(?1)) = ?1
) ORDER BY id DESC LIMIT ?2;

-- name: refusal
-- Refused messages, in the same way.
SELECT id FROM (
    SELECT id FROM (
        SELECT id FROM refusals WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id DESC LIMIT ?2
    )
    UNION
    SELECT id FROM (SELECT id FROM refusals ORDER BY id DESC LIMIT ?3)
    WHERE substr(id, -length(?1)) = ?1
) ORDER BY id DESC LIMIT ?2;

-- name: delivery
-- Deliveries, in the same way.
SELECT id FROM (
    SELECT id FROM (
        SELECT id FROM outbox WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id DESC LIMIT ?2
    )
    UNION
    SELECT id FROM (SELECT id FROM outbox ORDER BY id DESC LIMIT ?3)
    WHERE substr(id, -length(?1)) = ?1
) ORDER BY id DESC LIMIT ?2;

-- name: call
-- Calls of /v1 among the newest.
SELECT message_id FROM (
    SELECT message_id FROM events INDEXED BY events_calls
    WHERE kind = 'call' ORDER BY at DESC LIMIT ?3
)
WHERE substr(message_id, 1, length(?1)) = ?1 OR substr(message_id, -length(?1)) = ?1
ORDER BY message_id DESC LIMIT ?2;

-- name: person
-- People, in the same way as messages.
SELECT id FROM (
    SELECT id FROM (
        SELECT id FROM people WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id DESC LIMIT ?2
    )
    UNION
    SELECT id FROM (SELECT id FROM people ORDER BY id DESC LIMIT ?3)
    WHERE substr(id, -length(?1)) = ?1
) ORDER BY id DESC LIMIT ?2;

-- name: channel
-- People as their platforms name them, by the beginning.
SELECT platform || ':' || user_id FROM (
    SELECT platform, user_id FROM user_channels ORDER BY platform, user_id LIMIT ?3
)
WHERE substr(platform || ':' || user_id, 1, length(?1)) = ?1
ORDER BY platform, user_id LIMIT ?2;

-- name: replay
-- Replays, in the same way as messages.
SELECT id FROM (
    SELECT id FROM (
        SELECT id FROM replays WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id DESC LIMIT ?2
    )
    UNION
    SELECT id FROM (SELECT id FROM replays ORDER BY id DESC LIMIT ?3)
    WHERE substr(id, -length(?1)) = ?1
) ORDER BY id DESC LIMIT ?2;

-- name: job
-- Scheduled jobs among the newest.
SELECT id FROM (SELECT id FROM cron_jobs ORDER BY id DESC LIMIT ?3)
WHERE substr(id, 1, length(?1)) = ?1 OR substr(id, -length(?1)) = ?1
ORDER BY id DESC LIMIT ?2;

-- name: letter
-- Replies that were given up or are held.
SELECT id FROM outbox WHERE seq IN (
    SELECT seq FROM outbox INDEXED BY outbox_dead
    WHERE state = 'dead' AND coalesce(failure, '') <> 'dropped'
    UNION ALL
    SELECT seq FROM outbox INDEXED BY outbox_open
    WHERE state NOT IN ('sent', 'dead') AND state = 'unknown' AND held = 1
    ORDER BY seq DESC LIMIT ?3
) AND (substr(id, 1, length(?1)) = ?1 OR substr(id, -length(?1)) = ?1)
ORDER BY id DESC LIMIT ?2;

-- name: key
-- Keys of /v1.
SELECT id FROM (SELECT id FROM caller_keys ORDER BY id DESC LIMIT ?3)
WHERE substr(id, 1, length(?1)) = ?1 OR substr(id, -length(?1)) = ?1
ORDER BY id DESC LIMIT ?2;

-- name: answer
-- Model calls of conversations among the newest; a call that is on several branches is one.
SELECT DISTINCT id FROM (
    SELECT id FROM calls ORDER BY graph DESC, branch DESC, number DESC LIMIT ?3
)
WHERE substr(id, 1, length(?1)) = ?1 OR substr(id, -length(?1)) = ?1
ORDER BY id DESC LIMIT ?2;
