-- name: request
-- The last request of a stranger, if it has not been over for long.
SELECT asked_at, message_id, state, expires_at FROM pairings
WHERE platform = ?1 AND user_id = ?2 AND expires_at > ?3;

-- name: others_waiting
-- Who else waits on a platform, the first whose code expires at the top.
SELECT user_id, expires_at FROM pairings
WHERE platform = ?1 AND user_id <> ?2 AND state = 'waiting' AND expires_at > ?3
ORDER BY expires_at, user_id;

-- name: waiting_elsewhere
-- How many wait on other platforms.
SELECT count(*) FROM pairings WHERE platform <> ?1 AND state = 'waiting' AND expires_at > ?2;

-- name: put_request
-- A stranger's request; it replaces the one before.
INSERT INTO pairings (platform, user_id, person_id, message_id, digest, asked_at, expires_at, state)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'waiting')
ON CONFLICT (platform, user_id) DO UPDATE SET person_id = excluded.person_id,
    message_id = excluded.message_id, digest = excluded.digest, asked_at = excluded.asked_at,
    expires_at = excluded.expires_at, state = 'waiting';

-- name: waiting
-- Who waits to be let in, on one platform or on all, with the name that the platform shows.
SELECT pairings.platform, pairings.user_id, pairings.person_id, asked_at, expires_at, name
FROM pairings LEFT JOIN user_channels AS channel
    ON channel.platform = pairings.platform AND channel.user_id = pairings.user_id
WHERE (?2 = '' OR pairings.platform = ?2) AND state = 'waiting' AND expires_at > ?1
ORDER BY asked_at, pairings.platform, pairings.user_id;

-- name: digests
-- The hashes of the codes that count on a platform.
SELECT user_id, person_id, message_id, digest FROM pairings
WHERE platform = ?1 AND state = 'waiting' AND expires_at > ?2;

-- name: settle
-- A waiting request is decided; its code is worth nothing any more.
UPDATE pairings SET state = ?3, digest = ?4 WHERE platform = ?1 AND user_id = ?2 AND state = 'waiting';

-- name: where_asked
-- Where the reply to a message went, if it went over a wire at all.
SELECT id, target FROM outbox
WHERE message_id = ?1 AND purpose = 'reply' AND (state <> 'sent' OR sending_at IS NOT NULL)
ORDER BY seq LIMIT 1;

-- name: trim_requests
-- Forget requests that nobody asks about any more.
DELETE FROM pairings WHERE expires_at <= ?1;

-- name: add_link_code
-- A code with which a person links another channel.
INSERT INTO link_codes (digest, person_id, made_at, expires_at, lets_in)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (digest) DO UPDATE SET person_id = excluded.person_id, made_at = excluded.made_at,
    expires_at = excluded.expires_at, lets_in = excluded.lets_in;

-- name: drop_unused
-- The code that a person had before.
DELETE FROM link_codes WHERE person_id = ?1 AND used_by IS NULL;

-- name: trim_link_codes
-- Forget codes that are no longer good.
DELETE FROM link_codes WHERE expires_at <= ?1;

-- name: link_code
-- Whose code this is, which message used it, and whether it lets in.
SELECT link_codes.person_id, used_by, lets_in FROM link_codes JOIN people ON people.id = link_codes.person_id
WHERE digest = ?1 AND expires_at > ?2 AND blocked_at IS NULL AND erased_at IS NULL;

-- name: use_link_code
-- Use a code up.
UPDATE link_codes SET used_by = ?2 WHERE digest = ?1 AND used_by IS NULL;

-- name: wrong
-- How many wrong codes there were.
SELECT failures, last_at, locked_until FROM wrong_codes
WHERE kind = ?1 AND platform = ?2 AND user_id = ?3;

-- name: put_wrong
-- Count the wrong codes.
INSERT INTO wrong_codes (kind, platform, user_id, failures, last_at, locked_until)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (kind, platform, user_id) DO UPDATE SET failures = excluded.failures,
    last_at = excluded.last_at, locked_until = excluded.locked_until;

-- name: trim_wrong
-- Forget counts that bind nobody any more.
DELETE FROM wrong_codes WHERE kind = ?1 AND last_at <= ?2 AND locked_until <= ?3;

-- name: locks
-- The platforms whose approvals are locked.
SELECT platform, locked_until FROM wrong_codes
WHERE kind = 'pair' AND locked_until > ?1 ORDER BY platform;
