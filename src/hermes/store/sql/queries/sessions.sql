-- name: unused
-- Sessions of a platform that were last used in a stretch of time and have not ended since.
SELECT key, epoch, used_at, person_id FROM lanes INDEXED BY lanes_used
WHERE platform = ?1 AND used_at >= ?2 AND used_at < ?3 AND ended_at IS NULL AND head > 0
    AND key NOT LIKE '%/%' AND key NOT LIKE '%#%'
ORDER BY used_at LIMIT ?4;

-- name: usage
-- What a session has used since it began.
SELECT turns, tokens_in, tokens_out, cached_in, cache_written, cost_usd, unpriced
FROM lanes WHERE key = ?1;

-- name: end
-- A session ends, if it is still the one that was looked at and nothing is under way in it.
UPDATE lanes SET epoch = epoch + 1, fence = fence + 1, ended_at = ?3, end_reason = ?4,
    restarts = 0, choices = NULL, adapter = NULL, turns = 0, tokens_in = 0, tokens_out = 0, cached_in = 0, cache_written = 0,
    cost_usd = 0, unpriced = 0
WHERE key = ?1 AND epoch = ?2 AND ended_at IS NULL AND waiting_on IS NULL
    AND NOT EXISTS (
        SELECT 1 FROM inbox INDEXED BY inbox_open
        WHERE lane = ?1 AND state <> 'done' AND id <> ?5
            AND (state <> 'new' OR ?5 = '')
    )
    AND NOT EXISTS (
        SELECT 1 FROM inbox INDEXED BY inbox_open
        WHERE lane > ?1 || '/' AND lane < ?1 || '0' AND state <> 'done'
    )
RETURNING epoch;

-- name: undo
-- A session whose last messages are taken out, if it is as it was looked at and nothing is under way.
UPDATE lanes SET head = head + 1, fence = fence + 1, adapter = NULL
WHERE key = ?1 AND epoch = ?2 AND head = ?3 AND ended_at IS NULL AND waiting_on IS NULL
    AND NOT EXISTS (
        SELECT 1 FROM inbox INDEXED BY inbox_open WHERE lane = ?1 AND state <> 'done'
    )
    AND NOT EXISTS (
        SELECT 1 FROM inbox INDEXED BY inbox_open
        WHERE lane > ?1 || '/' AND lane < ?1 || '0' AND state <> 'done'
    )
RETURNING head;

-- name: move_waiting
-- What waits on a lane belongs to the conversation that begins.
UPDATE inbox SET epoch = ?2 WHERE lane = ?1 AND state <> 'done' AND state = 'new';

-- name: learn_now
-- What a session taught is learnt without waiting for another pause; ?1 and ?2 enclose its jobs.
UPDATE jobs SET due_at = ?3 WHERE key > ?1 AND key < ?2 AND due_at > ?3;

-- name: old_writers
-- The senders who wrote in a session from before conversation names belonged to senders.
SELECT user_id FROM lane_writers WHERE lane = ?1;

-- name: any_old_writers
-- Whether there are sessions from that time.
SELECT 1 FROM lane_writers LIMIT 1;
