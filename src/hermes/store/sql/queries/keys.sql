-- name: add
-- A new key of a caller.
INSERT INTO caller_keys (digest, id, label, user_id, person_id, hint, created_at, models,
    budget_usd, budget_period, budget_tokens, requests_per_minute, max_output_tokens, expires_at,
    revoked_at, store_responses, may_delegate, read_history)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18);

-- name: find
-- The key with this hash.
SELECT key.id, label, user_id, person_id, hint, key.created_at, models, budget_usd, budget_period,
    budget_tokens, requests_per_minute, max_output_tokens, expires_at, revoked_at, store_responses,
    may_delegate, read_history, tier
FROM caller_keys AS key JOIN people ON people.id = key.person_id WHERE digest = ?1;

-- name: get
-- The key of this id.
SELECT key.id, label, user_id, person_id, hint, key.created_at, models, budget_usd, budget_period,
    budget_tokens, requests_per_minute, max_output_tokens, expires_at, revoked_at, store_responses,
    may_delegate, read_history, tier
FROM caller_keys AS key JOIN people ON people.id = key.person_id WHERE key.id = ?1;

-- name: list
-- Every key, the newest first.
SELECT key.id, label, user_id, person_id, hint, key.created_at, models, budget_usd, budget_period,
    budget_tokens, requests_per_minute, max_output_tokens, expires_at, revoked_at, store_responses,
    may_delegate, read_history, tier
FROM caller_keys AS key JOIN people ON people.id = key.person_id ORDER BY key.created_at DESC, key.id DESC;

-- name: revoke
-- End a key that is not revoked yet.
UPDATE caller_keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL;
