-- name: add
-- A new agent.
INSERT INTO agents (id, name, state, reason, version, author, created_at, changed_at, delete_at)
VALUES (?1, ?2, ?3, '', ?4, ?5, ?6, ?6, NULL);

-- name: named
-- Which agent has a name.
SELECT id FROM agents WHERE name = ?1;

-- name: count
-- How many agents there are.
SELECT count(*) FROM agents;

-- name: counts
-- How many agents there are in each state.
SELECT state, count(*) FROM agents GROUP BY state;

-- name: get
-- An agent with its newest version.
SELECT id, name, state, version, agents.author, created_at, changed_at, reason, delete_at, sealed
FROM agents JOIN agent_versions ON agent_id = id AND number = version
WHERE id = ?1;

-- name: find
-- An agent by its name, with its newest version.
SELECT id, name, state, version, agents.author, created_at, changed_at, reason, delete_at, sealed
FROM agents JOIN agent_versions ON agent_id = id AND number = version
WHERE name = ?1;

-- name: page
-- The next agents by name, of one state or of all.
SELECT id, name, state, version, agents.author, created_at, changed_at, reason, delete_at, sealed
FROM agents JOIN agent_versions ON agent_id = id AND number = version
WHERE name > ?1 AND (?2 = '' OR state = ?2)
ORDER BY name LIMIT ?3;

-- name: unfinished
-- Agents to be checked, and those whose time to be deleted has come.
SELECT id, name, state, version, agents.author, created_at, changed_at, reason, delete_at, sealed
FROM agents JOIN agent_versions ON agent_id = id AND number = version
WHERE state IN ('provisioning', 'deleting') AND (state = 'provisioning' OR delete_at <= ?1)
ORDER BY changed_at, id LIMIT ?2;

-- name: change
-- The next version of an agent, unless another change came first.
UPDATE agents SET name = ?2, version = ?3, state = ?4, reason = '', changed_at = ?5
WHERE id = ?1 AND version = ?3 - 1 AND state <> 'deleting';

-- name: set_state
-- Another state of an agent.
UPDATE agents SET state = ?3, reason = ?4, delete_at = ?5, changed_at = ?6
WHERE id = ?1 AND state = ?2 AND version = ?7;

-- name: state
-- The state and the version of an agent.
SELECT state, version FROM agents WHERE id = ?1;

-- name: check_failed_again
-- Failed agents are checked again.
UPDATE agents SET state = 'provisioning', reason = '', changed_at = ?1 WHERE state = 'failed';

-- name: add_version
-- One version of an agent.
INSERT INTO agent_versions (agent_id, number, sealed, author, at, note)
VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: trim_versions
-- Forget versions up to a number.
DELETE FROM agent_versions WHERE agent_id = ?1 AND number <= ?2;

-- name: versions
-- The versions of an agent, newest first.
SELECT number, author, at, note, sealed FROM agent_versions
WHERE agent_id = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3;

-- name: version
-- One version of an agent.
SELECT number, author, at, note, sealed FROM agent_versions WHERE agent_id = ?1 AND number = ?2;

-- name: remove
-- An agent whose time to be deleted has come.
DELETE FROM agents WHERE id = ?1 AND state = 'deleting' AND delete_at <= ?2;

-- name: remove_versions
-- Every version of an agent.
DELETE FROM agent_versions WHERE agent_id = ?1;

-- name: has_key
-- Whether there is a key that seals agents.
SELECT 1 FROM person_keys WHERE person_id = ?1;
