-- name: add
-- A change that other nodes have to hear of.
INSERT INTO feed (at, kind, key) VALUES (hermes_now(), ?1, ?2);

-- name: last
-- Where the feed ends.
SELECT coalesce(max(id), 0) FROM feed;

-- name: after
-- What changed since, oldest first.
SELECT id, kind, key FROM feed WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: trim
-- Changes that every node has heard of long ago.
DELETE FROM feed WHERE at < ?1;
