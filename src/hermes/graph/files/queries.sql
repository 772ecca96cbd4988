-- name: tables
-- How many tables a file has; a new one has none.
SELECT count(*) FROM sqlite_master;

-- name: schema
-- What a file holds: tables and indexes, and views and triggers if somebody added them.
SELECT type, name, sql FROM sqlite_master LIMIT ?;

-- name: set_about
-- A fact about the file.
INSERT INTO about (key, value) VALUES (?, ?);

-- name: about
-- A fact about the file.
SELECT value FROM about WHERE key = ?;

-- name: blob
-- One message.
SELECT data FROM blobs WHERE name = ?;

-- name: chunk
-- One node of a tree.
SELECT data FROM chunks WHERE name = ?;

-- name: has_blob
-- Whether a message is stored.
SELECT 1 FROM blobs WHERE name = ?;

-- name: has_chunk
-- Whether a node is stored.
SELECT 1 FROM chunks WHERE name = ?;

-- name: add_blob
-- A message; the same one is stored once.
INSERT INTO blobs (name, data) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: add_chunk
-- A node of a tree; the same one is stored once.
INSERT INTO chunks (name, data) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: branches
-- The last line of each branch's log.
SELECT branch, data, max(number) FROM moves WHERE graph = ? GROUP BY branch;

-- name: last_move
-- The last line of a branch's log.
SELECT data FROM moves WHERE graph = ? AND branch = ? ORDER BY number DESC LIMIT 1;

-- name: moves
-- The log of a branch, oldest first.
SELECT data FROM moves WHERE graph = ? AND branch = ? ORDER BY number;

-- name: all_moves
-- The logs of all graphs.
SELECT data FROM moves;

-- name: add_move
-- One line of a log.
INSERT INTO moves (graph, branch, number, data) VALUES (?, ?, ?, ?);

-- name: calls
-- The calls of a graph, oldest first.
SELECT data FROM calls WHERE graph = ? ORDER BY number;

-- name: all_calls
-- The calls of all graphs.
SELECT data FROM calls;

-- name: call
-- The call of an id.
SELECT data FROM calls WHERE graph = ? AND id = ?;

-- name: add_call
-- One call.
INSERT INTO calls (graph, id, data) VALUES (?, ?, ?);

-- name: links
-- The links of a graph, oldest first.
SELECT data FROM links WHERE graph = ? ORDER BY number;

-- name: add_link
-- One link.
INSERT INTO links (graph, data) VALUES (?, ?);

-- name: feedback
-- The thumbs of a graph, oldest first.
SELECT data FROM feedback WHERE graph = ? ORDER BY number;

-- name: add_feedback
-- One thumb.
INSERT INTO feedback (graph, data) VALUES (?, ?);

-- name: graphs
-- The branches of all graphs.
SELECT DISTINCT graph, branch FROM moves ORDER BY graph, branch;

-- name: drop_moves
-- Forget the logs of a graph.
DELETE FROM moves WHERE graph = ?;

-- name: drop_calls
-- Forget the calls of a graph.
DELETE FROM calls WHERE graph = ?;

-- name: drop_links
-- Forget the links of a graph.
DELETE FROM links WHERE graph = ?;

-- name: drop_feedback
-- Forget the thumbs of a graph.
DELETE FROM feedback WHERE graph = ?;

-- name: chunk_names
-- The names of all nodes, with their sizes.
SELECT name, length(data) FROM chunks;

-- name: blob_names
-- The names of all messages, with their sizes.
SELECT name, length(data) FROM blobs;

-- name: drop_chunk
-- Forget a node.
DELETE FROM chunks WHERE name = ?;

-- name: drop_blob
-- Forget a message.
DELETE FROM blobs WHERE name = ?;
