-- name: add
-- Keep a credential's hash.
INSERT INTO credentials (kind, digest, label, created_at, expires_at, role, parent)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: find
-- A credential that is known, unused and not expired.
SELECT digest, label, role, created_at, expires_at, parent FROM credentials
WHERE kind = ?1 AND digest = ?2 AND used_at IS NULL AND (expires_at IS NULL OR expires_at > ?3);

-- name: use_once
-- Use a one-time credential up.
UPDATE credentials SET used_at = ?3
WHERE kind = ?1 AND digest = ?2 AND used_at IS NULL AND (expires_at IS NULL OR expires_at > ?3);

-- name: any
-- Whether a credential of a kind exists.
SELECT 1 FROM credentials WHERE kind = ?1 LIMIT 1;

-- name: trim
-- Forget credentials that can no longer be used.
DELETE FROM credentials WHERE expires_at <= ?1 OR (used_at IS NOT NULL AND used_at <= ?1);

-- name: list
-- Every credential of a kind, the newest first.
SELECT digest, label, role, created_at, expires_at, parent FROM credentials
WHERE kind = ?1 ORDER BY created_at DESC, digest;

-- name: revoke
-- A token is good for nothing any more, and neither are the sessions that it signed in.
DELETE FROM credentials WHERE (kind = 'token' AND digest = ?1) OR parent = ?1;
