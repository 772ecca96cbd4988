-- name: add
-- Store a response.
INSERT INTO stored_responses (id, root, previous, depth, size, context_size, items, answer, at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: extend
-- Count a response in its conversation, which it begins or continues.
INSERT INTO response_chains (root, key_id, person_id, responses, size, expires_at)
VALUES (?1, ?2, ?3, 1, ?4, ?5)
ON CONFLICT (root) DO UPDATE SET responses = response_chains.responses + 1,
    size = response_chains.size + excluded.size, expires_at = excluded.expires_at;

-- name: head
-- What a new response needs to know of the one that it continues.
SELECT root, depth, context_size FROM stored_responses JOIN response_chains USING (root)
WHERE id = ?1 AND key_id = ?2 AND person_id = ?3;

-- name: get
-- A response of its owner with its sealed bodies, in one look: those of a deleted one may be reused.
SELECT said.sealed, other.sealed, previous, depth, context_size, at, said.id, other.id
FROM stored_responses AS response JOIN response_chains AS chain ON chain.root = response.root
    JOIN blobs AS said ON said.id = items AND said.person_id = chain.person_id
    JOIN blobs AS other ON other.id = answer AND other.person_id = chain.person_id
WHERE response.id = ?1 AND key_id = ?2 AND chain.person_id = ?3 AND expires_at > ?4;

-- name: stored_until
-- When a response that has not expired will.
SELECT expires_at FROM stored_responses AS response JOIN response_chains AS chain USING (root)
WHERE id = ?1 AND expires_at > ?2;

-- name: of_person
-- The responses of a person with their sizes, the newest first.
SELECT id, response.size
FROM response_chains AS chain JOIN stored_responses AS response USING (root)
WHERE person_id = ?1 ORDER BY at DESC, id DESC;

-- name: with_bodies
-- A response of a person with its sealed bodies.
SELECT said.sealed, other.sealed, previous, depth, context_size, at, said.id, other.id
FROM stored_responses AS response
    JOIN blobs AS said ON said.id = items AND said.person_id = ?2
    JOIN blobs AS other ON other.id = answer AND other.person_id = ?2
WHERE response.id = ?1;

-- name: chain
-- The sealed items of a person's conversation up to a response, oldest first.
WITH RECURSIVE chain(previous, depth, items) AS (
    SELECT previous, depth, items FROM stored_responses WHERE id = ?1
    UNION ALL
    SELECT older.previous, older.depth, older.items
    FROM chain JOIN stored_responses AS older ON older.id = chain.previous
    WHERE older.depth < chain.depth
)
SELECT sealed, blobs.id FROM chain JOIN blobs ON blobs.id = items AND blobs.person_id = ?2 ORDER BY depth;

-- name: find
-- A response of its owner that has not expired.
SELECT id, root, response.size, items, answer
FROM stored_responses AS response JOIN response_chains AS chain USING (root)
WHERE id = ?1 AND key_id = ?2 AND person_id = ?3 AND expires_at > ?4;

-- name: oldest
-- The oldest responses of a conversation.
SELECT id, root, size, items, answer FROM stored_responses WHERE root = ?1 ORDER BY at, id LIMIT ?2;

-- name: drop
-- Delete a response.
DELETE FROM stored_responses WHERE id = ?1;

-- name: shorten
-- Count a response no more.
UPDATE response_chains SET responses = responses - 1, size = size - ?2 WHERE root = ?1;

-- name: drop_empty
-- Delete a conversation without responses.
DELETE FROM response_chains WHERE root = ?1 AND responses = 0;

-- name: use
-- How many responses a key has, and their bytes.
SELECT coalesce(sum(responses), 0), coalesce(sum(size), 0) FROM response_chains WHERE key_id = ?1;

-- name: unused
-- The conversations of a key, the least recently continued first.
SELECT root FROM response_chains WHERE key_id = ?1 ORDER BY expires_at LIMIT ?2;

-- name: expired
-- Conversations that expired before a time.
SELECT root FROM response_chains WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2;

-- name: drop_bodies_of
-- Delete the bodies of a person's responses.
DELETE FROM blobs WHERE name IS NULL AND id IN (
    SELECT items FROM stored_responses JOIN response_chains USING (root) WHERE person_id = ?1
    UNION ALL
    SELECT answer FROM stored_responses JOIN response_chains USING (root) WHERE person_id = ?1
);

-- name: drop_responses_of
-- Delete the responses of a person.
DELETE FROM stored_responses WHERE root IN (
    SELECT root FROM response_chains WHERE person_id = ?1
);

-- name: drop_chains_of
-- Delete the conversations of a person.
DELETE FROM response_chains WHERE person_id = ?1;
