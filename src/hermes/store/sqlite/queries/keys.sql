-- name: add
-- A new key of a caller.
INSERT INTO caller_keys (digest, id, label, user_id, person_id, hint, created_at, models,
    budget_usd, budget_period, budget_tokens, requests_per_minute, max_output_tokens, expires_at,
    revoked_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15);

-- name: find
-- The key with this hash.
SELECT id, label, user_id, person_id, hint, created_at, models, budget_usd, budget_period,
    budget_tokens, requests_per_minute, max_output_tokens, expires_at, revoked_at
FROM caller_keys WHERE digest = ?1;

-- name: list
-- Every key, the newest first.
SELECT id, label, user_id, person_id, hint, created_at, models, budget_usd, budget_period,
    budget_tokens, requests_per_minute, max_output_tokens, expires_at, revoked_at
FROM caller_keys ORDER BY created_at DESC, id DESC;

-- name: revoke
-- End a key that is not revoked yet.
UPDATE caller_keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL;
