-- name: add
-- Keep a credential's hash.
INSERT INTO credentials (kind, digest, label, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: check
-- When a credential that is known, unused and not expired will expire.
SELECT expires_at FROM credentials
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
