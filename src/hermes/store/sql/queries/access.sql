-- name: add
-- Keep a credential's hash.
INSERT INTO credentials (kind, digest, label, created_at, expires_at, role, parent, may_delegate,
    user_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: find
-- A credential that is known, unused and not expired, and whose person is not blocked unless it is the owner's.
SELECT digest, label, role, created_at, expires_at, parent, seen_at, may_delegate, user_id
FROM credentials
WHERE kind = ?1 AND digest = ?2 AND used_at IS NULL AND (expires_at IS NULL OR expires_at > ?3)
    AND (user_id = '' OR role = 'owner' OR NOT EXISTS (
        SELECT 1 FROM user_channels AS channel JOIN people ON people.id = channel.person_id
        WHERE channel.platform = 'web' AND channel.user_id = credentials.user_id
            AND people.blocked_at IS NOT NULL
    ));

-- name: unused
-- A link that nobody has used and that has not expired.
SELECT digest, label, role, created_at, expires_at, parent, seen_at, may_delegate, user_id
FROM credentials
WHERE kind = ?1 AND digest = ?2 AND used_at IS NULL AND (expires_at IS NULL OR expires_at > ?3);

-- name: use_once
-- Use a one-time credential up.
UPDATE credentials SET used_at = ?3
WHERE kind = ?1 AND digest = ?2 AND used_at IS NULL AND (expires_at IS NULL OR expires_at > ?3);

-- name: any
-- Whether a credential of a kind exists.
SELECT 1 FROM credentials WHERE kind = ?1 LIMIT 1;

-- name: expired_sessions
-- The sessions that have expired.
SELECT digest FROM credentials WHERE kind = 'session' AND expires_at <= ?1;

-- name: trim
-- Forget credentials that can no longer be used.
DELETE FROM credentials WHERE expires_at <= ?1 OR (used_at IS NOT NULL AND used_at <= ?1);

-- name: list
-- Every credential of a kind, the newest first.
SELECT digest, label, role, created_at, expires_at, parent, seen_at, may_delegate, user_id
FROM credentials
WHERE kind = ?1 ORDER BY created_at DESC, digest;

-- name: sessions_of
-- The sessions of a person of the web chat, the newest first.
SELECT digest, label, role, created_at, expires_at, parent, seen_at, may_delegate, user_id
FROM credentials
WHERE user_id = ?1 AND user_id <> '' AND kind = 'session' ORDER BY created_at DESC, digest;

-- name: name
-- The person of a web chat's user, and their name, sealed.
SELECT person_id, name FROM user_channels WHERE platform = 'web' AND user_id = ?1;

-- name: invited
-- How many invitations are open.
SELECT count(*) FROM credentials WHERE kind = 'invite';

-- name: is_blocked
-- Whether the person of a web chat's user is blocked.
SELECT 1 FROM user_channels AS channel JOIN people ON people.id = channel.person_id
WHERE channel.platform = 'web' AND channel.user_id = ?1 AND people.blocked_at IS NOT NULL;

-- name: end_of_person
-- End the sessions and invitations of a person in the web chat, but not the owner's.
DELETE FROM credentials WHERE user_id <> '' AND role <> 'owner' AND user_id IN (
    SELECT user_id FROM user_channels WHERE platform = 'web' AND person_id = ?1
);

-- name: forget_person
-- End everything that a person could sign in with, before their channels are forgotten.
DELETE FROM credentials WHERE user_id <> '' AND user_id IN (
    SELECT user_id FROM user_channels WHERE platform = 'web' AND person_id = ?1
);

-- name: maker
-- A token or a session that makes another credential and is still good: when it ends.
SELECT expires_at FROM credentials
WHERE kind IN ('token', 'session') AND digest = ?1 AND (expires_at IS NULL OR expires_at > ?2);

-- name: root
-- The token at the start of a chain of sessions, and when it ends; none if no token started it.
WITH RECURSIVE chain(digest) AS (
    SELECT digest FROM credentials WHERE digest = ?1
    UNION
    SELECT parent FROM credentials WHERE parent = ?1
    UNION
    SELECT c.parent FROM credentials c JOIN chain ON c.kind = 'session' AND c.digest = chain.digest
)
SELECT c.digest, c.expires_at FROM credentials c
JOIN chain ON c.kind = 'token' AND c.digest = chain.digest;

-- name: move
-- A session belongs to another maker.
UPDATE credentials SET parent = ?2 WHERE kind = 'session' AND digest = ?1;

-- name: revoke
-- End a token or a session, and every link and session that was made from it, however indirectly.
-- Tokens that were made from it stay.
WITH RECURSIVE ended(digest) AS (
    SELECT digest FROM credentials WHERE digest = ?1
    UNION
    SELECT parent FROM credentials WHERE parent = ?1
    UNION
    SELECT c.digest FROM credentials c JOIN ended ON c.parent = ended.digest
    WHERE c.kind <> 'token'
)
DELETE FROM credentials WHERE digest IN (SELECT digest FROM ended);

-- name: drop_links_of
-- Forget the links that a session made and nobody has used.
DELETE FROM credentials WHERE kind = 'signin' AND parent = ?1;

-- name: hand_on
-- The sessions that a session made belong to whatever made that session, once it is over.
UPDATE credentials SET parent = (SELECT parent FROM credentials WHERE kind = 'session' AND digest = ?1)
WHERE kind = 'session' AND parent = ?1;

-- name: drop
-- Forget one credential.
DELETE FROM credentials WHERE kind = ?1 AND digest = ?2;

-- name: touch
-- Note when a credential was last used.
UPDATE credentials SET seen_at = ?3 WHERE kind = ?1 AND digest = ?2;
