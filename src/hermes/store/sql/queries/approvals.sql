-- name: ask
-- A question that a turn waits on.
INSERT INTO approvals (id, message_id, lane, ordinal, tool, arguments_hash, requester, chat_type,
    asked_at, expires_at, state, owner)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'waiting', ?11);

-- name: decide
-- Settle a waiting approval.
UPDATE approvals SET state = ?2, decided_by = ?3, decided_at = ?4
WHERE id = ?1 AND state = 'waiting' AND (?2 = 'expired' OR expires_at > ?4);

-- name: unblock_lane
-- The lane no longer waits.
UPDATE lanes SET waiting_on = NULL WHERE key = ?2 AND waiting_on = ?1;

-- name: get
-- One approval.
SELECT id, message_id, lane, ordinal, tool, arguments_hash, requester, chat_type, expires_at,
    state, decided_by
FROM approvals WHERE id = ?1;

-- name: waiting
-- The approval that a lane waits on.
SELECT id FROM approvals WHERE lane = ?1 AND state = 'waiting';

-- name: waiting_around
-- What waits on a lane or below it, in background tasks and subagents, the oldest first.
SELECT id, asked_at FROM approvals WHERE lane = ?1 AND state = 'waiting'
UNION ALL
SELECT id, asked_at FROM approvals WHERE lane > ?1 || '/' AND lane < ?1 || '0' AND state = 'waiting'
ORDER BY asked_at, id LIMIT 20;

-- name: overdue
-- Waiting approvals whose time is up.
SELECT id FROM approvals WHERE state = 'waiting' AND expires_at <= ?1;

-- name: orphans
-- Questions of tools that died with their node: their messages are not parked.
UPDATE approvals SET state = 'expired', decided_by = 'restart'
WHERE state = 'waiting' AND owner = ?1 AND NOT EXISTS (
    SELECT 1 FROM inbox WHERE inbox.id = approvals.message_id AND inbox.state = 'parked'
);

-- name: was_asked
-- Whether a tool ever asked somebody; the ids of such questions begin with q.
SELECT 1 FROM approvals WHERE requester = ?1 AND id >= 'q_' AND id < 'q`' LIMIT 1;

-- name: standing
-- Whether somebody has said "always" to something.
SELECT 1 FROM meta WHERE key = ?1;

-- name: stand
-- Somebody says "always".
INSERT INTO meta (key, value) VALUES (?1, '1') ON CONFLICT (key) DO NOTHING;

-- name: forget_standing
-- Somebody takes it back.
DELETE FROM meta WHERE key = ?1;
