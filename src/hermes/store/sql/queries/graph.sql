-- name: number
-- The number of a graph.
SELECT id FROM graphs WHERE name = ?1;

-- name: add_graph
-- A new graph.
INSERT INTO graphs (id, name) VALUES (?1, ?2);

-- name: last_graph
-- The highest number of a graph.
SELECT coalesce(max(id), 0) FROM graphs;

-- name: graphs
-- Every graph, the newest first; as bytes, since a damaged name is not to hide the others.
SELECT id, CAST(name AS BLOB) FROM graphs ORDER BY id DESC;

-- name: refs
-- Where the branches of a graph stand.
SELECT branch, root, length, version FROM refs WHERE graph = ?1;

-- name: listed_refs
-- The branches of a graph for a list, with their names as bytes.
SELECT CAST(branch AS BLOB), length, calls FROM refs WHERE graph = ?1 ORDER BY branch;

-- name: ref
-- Where one branch stands.
SELECT root, length, version FROM refs WHERE graph = ?1 AND branch = ?2;

-- name: start_ref
-- A new branch, unless somebody else made it.
INSERT INTO refs (graph, branch, root, length, version, calls) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT DO NOTHING RETURNING calls;

-- name: move_ref
-- A branch moves on, if it stands where the move begins.
UPDATE refs SET root = ?3, length = ?4, version = ?5, calls = calls + ?6
WHERE graph = ?1 AND branch = ?2 AND version = ?7 AND root = ?8
RETURNING calls;

-- name: move_known_ref
-- A branch moves on that is known with its calls.
UPDATE refs SET root = ?3, length = ?4, version = ?5, calls = calls + ?6
WHERE graph = ?1 AND branch = ?2 AND version = ?7 AND root = ?8 AND calls = ?9;

-- name: calls_made
-- How many calls a branch has made.
SELECT calls FROM refs WHERE graph = ?1 AND branch = ?2;

-- name: count_calls
-- Calls of a branch that does not move.
UPDATE refs SET calls = calls + ?3 WHERE graph = ?1 AND branch = ?2 RETURNING calls;

-- name: add_move
-- One line of a branch's log.
INSERT INTO moves (graph, branch, number, data) VALUES (?1, ?2, ?3, ?4);

-- name: moves
-- The log of a branch, oldest first.
SELECT number, data FROM moves WHERE graph = ?1 AND branch = ?2 ORDER BY number;

-- name: last_moves
-- The newest lines of a branch's log, newest first.
SELECT number, data FROM moves WHERE graph = ?1 AND branch = ?2 ORDER BY number DESC LIMIT ?3;

-- name: moves_back
-- Lines of a branch's log from one on, newest first.
SELECT number, data FROM moves WHERE graph = ?1 AND branch = ?2 AND number <= ?3
ORDER BY number DESC LIMIT ?4;

-- name: add_chunk
-- One node of a tree.
INSERT INTO chunks (graph, name, data) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING;

-- name: chunks
-- Nodes of trees, by their names as a JSON list of hex.
SELECT name, data FROM json_each(?2) CROSS JOIN chunks ON graph = ?1 AND name = unhex(value);

-- name: blobs
-- Messages of a graph, by their names as a JSON list of hex; as many rows as people said them.
SELECT name, person_id, sealed, blobs.id FROM json_each(?2)
CROSS JOIN blobs ON graph = ?1 AND name = unhex(value) AND name IS NOT NULL;

-- name: has_tools
-- Whether tools are stored.
SELECT 1 FROM blobs WHERE graph = 0 AND name = ?1;

-- name: add_call
-- One model call.
INSERT INTO calls (graph, branch, number, id, data, person_id, tokens)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: calls
-- The calls of a graph, as they were made on each branch.
SELECT branch, number, id, data, person_id, tokens FROM calls WHERE graph = ?1
ORDER BY branch, number;

-- name: calls_back
-- Calls of a branch before one, newest first.
SELECT branch, number, id, data, person_id, tokens FROM calls
WHERE graph = ?1 AND branch = ?2 AND number < ?3 ORDER BY number DESC LIMIT ?4;

-- name: graph_of_call
-- The graph that a call belongs to.
SELECT graphs.name FROM calls JOIN graphs ON graphs.id = calls.graph WHERE calls.id = ?1 LIMIT 1;

-- name: place_of_call
-- The graph that a call belongs to, and whose call it is.
SELECT graphs.name, calls.person_id FROM calls JOIN graphs ON graphs.id = calls.graph
WHERE calls.id = ?1 LIMIT 1;

-- name: count_link
-- One more link of a graph.
UPDATE graphs SET links = links + 1 WHERE id = ?1 RETURNING links;

-- name: add_link
-- Which graph answered a tool call.
INSERT INTO links (graph, number, data) VALUES (?1, ?2, ?3);

-- name: links
-- The links of a graph.
SELECT number, data FROM links WHERE graph = ?1 ORDER BY number;

-- name: count_feedback
-- One more thumb of a graph.
UPDATE graphs SET feedback = feedback + 1 WHERE id = ?1 RETURNING feedback;

-- name: add_feedback
-- A thumb for the answer of a call.
INSERT INTO feedback (graph, number, data, person_id, reason) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: feedback
-- The thumbs of a graph.
SELECT number, data, person_id, reason FROM feedback WHERE graph = ?1 ORDER BY number;

-- name: people
-- Whose messages a graph holds, and whether they may be trained on; nobody who was erased may.
SELECT CAST(person_id AS BLOB), coalesce(
    (SELECT may_train AND erased_at IS NULL FROM people WHERE people.id = person_id), 0)
FROM blobs WHERE graph = ?1 AND name IS NOT NULL GROUP BY person_id;

-- name: lane
-- The epoch that a session is in, and when it was last used.
SELECT epoch, used_at FROM lanes WHERE key = ?1;

-- name: counted_calls
-- How many calls each branch made, and how many are there.
SELECT CAST(branch AS BLOB), calls,
    (SELECT count(*) FROM calls WHERE calls.graph = refs.graph AND calls.branch = refs.branch)
FROM refs WHERE graph = ?1;

-- name: counted_links
-- How many links a graph made, and how many are there.
SELECT links, (SELECT count(*) FROM links WHERE links.graph = graphs.id) FROM graphs WHERE id = ?1;

-- name: counted_feedback
-- How many thumbs a graph was given, and how many are there.
SELECT feedback, (SELECT count(*) FROM feedback WHERE feedback.graph = graphs.id)
FROM graphs WHERE id = ?1;

-- name: lost_branches
-- Branches of which there is a log or a call, and nothing says where they stand.
SELECT CAST(branch AS BLOB) FROM moves
WHERE graph = ?1 AND branch NOT IN (SELECT branch FROM refs WHERE graph = ?1)
UNION
SELECT CAST(branch AS BLOB) FROM calls
WHERE graph = ?1 AND branch NOT IN (SELECT branch FROM refs WHERE graph = ?1);

-- name: is_known
-- Whether there is a graph of this name, or at least the session that it would be of.
SELECT EXISTS (SELECT 1 FROM graphs WHERE name = ?1) OR EXISTS (SELECT 1 FROM lanes WHERE key = ?2);

-- name: orphans
-- What belongs to graphs that are gone, by the number of the graph.
SELECT graph, sum(refs), sum(moves), sum(calls), sum(links), sum(chunks), sum(blobs), sum(feedback)
FROM (
    SELECT graph, 1 AS refs, 0 AS moves, 0 AS calls, 0 AS links, 0 AS chunks, 0 AS blobs,
        0 AS feedback FROM refs
    UNION ALL SELECT graph, 0, 1, 0, 0, 0, 0, 0 FROM moves
    UNION ALL SELECT graph, 0, 0, 1, 0, 0, 0, 0 FROM calls
    UNION ALL SELECT graph, 0, 0, 0, 1, 0, 0, 0 FROM links
    UNION ALL SELECT graph, 0, 0, 0, 0, 1, 0, 0 FROM chunks
    UNION ALL SELECT graph, 0, 0, 0, 0, 0, 1, 0 FROM blobs WHERE name IS NOT NULL AND graph > 0
    UNION ALL SELECT graph, 0, 0, 0, 0, 0, 0, 1 FROM feedback
) WHERE graph NOT IN (SELECT id FROM graphs) GROUP BY graph;
