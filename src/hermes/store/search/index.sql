-- name: meta
-- One fact about the file.
SELECT value FROM meta WHERE key = ?1;

-- name: set_meta
-- Keep a fact about the file.
INSERT INTO meta (key, value) VALUES (?1, ?2);

-- name: position
-- How far a branch was read.
SELECT version, root FROM positions WHERE graph = ?1 AND branch = ?2;

-- name: set_position
-- A branch was read this far.
INSERT INTO positions (graph, branch, version, root) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO UPDATE SET version = excluded.version, root = excluded.root;

-- name: positions
-- How far the branches of a range of graphs were read.
SELECT graph, branch, version, root FROM positions WHERE graph > ?1 AND graph <= ?2;

-- name: known_graphs
-- The graphs of a range as they are known here.
SELECT graph, name FROM graphs WHERE graph > ?1 AND graph <= ?2;

-- name: add_waiting
-- A version that is to be taken in.
INSERT INTO waiting (at, graph, branch, number, root, start, added, person, turn)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING;

-- name: next_waiting
-- The oldest versions that are to be taken in.
SELECT at, graph, branch, number, root, start, added, person, turn FROM waiting
ORDER BY at, graph, branch, number LIMIT ?1;

-- name: drop_waiting
-- A version was taken in.
DELETE FROM waiting WHERE at = ?1 AND graph = ?2 AND branch = ?3 AND number = ?4;

-- name: count_waiting
-- How many versions are to be taken in.
SELECT count(*) FROM waiting;

-- name: number
-- The number of a name.
SELECT number FROM names WHERE kind = ?1 AND name = ?2;

-- name: add_name
-- A new name.
INSERT INTO names (kind, name) VALUES (?1, ?2);

-- name: name
-- The name of a number.
SELECT name FROM names WHERE number = ?1;

-- name: drop_name
-- Forget a name.
DELETE FROM names WHERE number = ?1;

-- name: add_graph
-- A graph and its session.
INSERT INTO graphs (graph, name, chat, is_thread) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING;

-- name: graph
-- One graph.
SELECT name, chat, is_thread FROM graphs WHERE graph = ?1;

-- name: add_member
-- Somebody said something in a graph.
INSERT INTO members (person, graph) VALUES (?1, ?2) ON CONFLICT DO NOTHING;

-- name: drop_members
-- Somebody is in no graph any more.
DELETE FROM members WHERE person = ?1;

-- name: threads_of
-- The shared sessions in which somebody took part, the newest first.
SELECT chat FROM members CROSS JOIN graphs ON graphs.graph = members.graph
WHERE person = ?1 AND is_thread GROUP BY chat ORDER BY max(graphs.graph) DESC LIMIT ?2;

-- name: people_of_chat
-- Who is in the conversation that a session is in now.
SELECT person FROM members WHERE graph = (SELECT max(graph) FROM graphs WHERE chat = ?1);

-- name: newest
-- The number of the newest message.
SELECT max(id) FROM messages;

-- name: add_message
-- One message.
INSERT INTO messages (id, graph, person, role, at, turn, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: add_parts
-- The parts of a message.
INSERT INTO parts (rowid, text, person, chat, agent, platform) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: add_words
-- The words of a message.
INSERT INTO words (rowid, text, person, chat, agent, platform) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: drop_parts
-- The parts of a message, taken out; they must be what was put in.
INSERT INTO parts (parts, rowid, text, person, chat, agent, platform)
VALUES ('delete', ?1, ?2, ?3, ?4, ?5, ?6);

-- name: drop_words
-- The words of a message, taken out; they must be what was put in.
INSERT INTO words (words, rowid, text, person, chat, agent, platform)
VALUES ('delete', ?1, ?2, ?3, ?4, ?5, ?6);

-- name: drop_message
-- One message, taken out.
DELETE FROM messages WHERE id = ?1;

-- name: marked
-- Messages with a mark.
SELECT messages.id, messages.graph, messages.text FROM words
CROSS JOIN messages ON messages.id = words.rowid
WHERE words MATCH ?1 LIMIT ?2;

-- name: by_parts
-- Messages that have all these parts, the newest first.
SELECT messages.id, graph, messages.person, role, at, turn, messages.text FROM parts
CROSS JOIN messages ON messages.id = parts.rowid
WHERE parts MATCH ?1 ORDER BY parts.rowid DESC;

-- name: by_words
-- Messages that have all these words, the newest first.
SELECT messages.id, graph, messages.person, role, at, turn, messages.text FROM words
CROSS JOIN messages ON messages.id = words.rowid
WHERE words MATCH ?1 ORDER BY words.rowid DESC;

-- name: of_graphs
-- Messages of some graphs, which are listed as JSON.
SELECT id, graph, person, text FROM messages
WHERE graph IN (SELECT value FROM json_each(?1)) LIMIT ?2;

-- name: drop_waiting_of
-- Nothing of some graphs is to be taken in any more.
DELETE FROM waiting WHERE graph IN (SELECT value FROM json_each(?1));

-- name: drop_positions
-- Some graphs are not read any more.
DELETE FROM positions WHERE graph IN (SELECT value FROM json_each(?1));

-- name: drop_members_of
-- Nobody is in some graphs any more.
DELETE FROM members WHERE graph IN (SELECT value FROM json_each(?1));

-- name: drop_graphs
-- Forget some graphs.
DELETE FROM graphs WHERE graph IN (SELECT value FROM json_each(?1));

-- name: graphs_of_person
-- The graphs in which a person said something.
SELECT graph, name FROM members CROSS JOIN graphs USING (graph) WHERE person = ?1;

-- name: graphs_below
-- The graphs of a session and of what it started.
SELECT graph, name FROM graphs
WHERE (name > ?1 || '#' AND name < ?1 || '$') OR (name > ?1 || '/' AND name < ?1 || '0');

-- name: name_graph
-- A graph has another name.
UPDATE graphs SET name = ?2 WHERE graph = ?1;

-- name: name_chat
-- The session of a graph has another name.
UPDATE OR IGNORE names SET name = ?2 WHERE kind = 1 AND name = ?1;
