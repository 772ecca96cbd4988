-- name: refs
-- Where the branches of some graphs stand, in the order of the graphs.
SELECT graphs.id, CAST(graphs.name AS BLOB), refs.branch, refs.version, refs.root
FROM (SELECT id, name FROM graphs WHERE id > ?1 ORDER BY id LIMIT ?2) AS graphs
CROSS JOIN refs ON refs.graph = graphs.id ORDER BY graphs.id;

-- name: last_graph
-- The last of the next graphs.
SELECT max(id) FROM (SELECT id FROM graphs WHERE id > ?1 ORDER BY id LIMIT ?2);

-- name: refs_of
-- Where the branches of one graph stand.
SELECT graphs.id, CAST(graphs.name AS BLOB), refs.branch, refs.version, refs.root
FROM graphs CROSS JOIN refs ON refs.graph = graphs.id WHERE graphs.id = ?1;

-- name: erased
-- Everybody who was erased.
SELECT id FROM people WHERE erased_at IS NOT NULL;

-- name: is_temporary
-- Whether a session leaves nothing to others.
SELECT 1 FROM lanes WHERE key = ?1 AND temporary <> 0;

-- name: name
-- What a graph is called.
SELECT name FROM graphs WHERE id = ?1;
