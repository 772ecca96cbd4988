-- name: all
-- Every secret with its sealed value.
SELECT agent, name, sealed FROM secrets ORDER BY agent, name;

-- name: list
-- The secrets of the gateway (an empty name) or of an agent, without their values.
SELECT name, agent, hash, set_at, set_by FROM secrets WHERE agent = ?1 ORDER BY name;

-- name: put
-- Set a secret, in place of the one before.
INSERT INTO secrets (agent, name, sealed, hash, set_at, set_by) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (agent, name) DO UPDATE SET
    sealed = excluded.sealed, hash = excluded.hash, set_at = excluded.set_at, set_by = excluded.set_by;

-- name: sealed
-- The sealed value of a secret.
SELECT sealed FROM secrets WHERE agent = ?1 AND name = ?2;

-- name: others
-- How many secrets there are beside one.
SELECT count(*) FROM secrets WHERE NOT (agent = ?1 AND name = ?2);

-- name: drop
-- Delete a secret.
DELETE FROM secrets WHERE agent = ?1 AND name = ?2;

-- name: erase
-- Delete every secret of an agent.
DELETE FROM secrets WHERE agent = ?1;

-- name: has_key
-- Whether there is a key that seals the secrets of an agent.
SELECT 1 FROM person_keys WHERE person_id = ?1;

-- name: drop_key
-- Destroy the key that seals the secrets of an agent.
DELETE FROM person_keys WHERE person_id = ?1;
