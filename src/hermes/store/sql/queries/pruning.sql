-- name: begun_at
-- When old conversations were last looked for.
SELECT value FROM meta WHERE key = 'pruned_at';

-- name: set_begun_at
-- Old conversations are looked for now.
INSERT INTO meta (key, value) VALUES ('pruned_at', ?1)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: page
-- Some graphs after a number, in the order of their numbers.
SELECT id, CAST(name AS BLOB) FROM graphs WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: graphs_of_lane
-- The graphs of one lane.
SELECT id, name FROM graphs WHERE name >= ?1 || '#' AND name < ?1 || '$';

-- name: branches
-- The branches of a graph that people have moved: a replay does not make a conversation younger.
SELECT branch FROM refs WHERE graph = ?1 AND branch NOT LIKE 'replay:%';

-- name: is_newest
-- Whether a graph has the highest number of all; numbers are never to be used twice.
SELECT NOT EXISTS (SELECT 1 FROM graphs WHERE id > ?1);

-- name: epoch
-- The conversation that a session is in, and whether somebody works on it.
SELECT epoch, owner IS NOT NULL FROM lanes WHERE key = ?1;

-- name: is_busy
-- Whether a message of a conversation is under way, or something still has to be learnt from it.
SELECT EXISTS (
    SELECT 1 FROM inbox INDEXED BY inbox_open WHERE lane = ?1 AND epoch = ?2 AND state <> 'done'
) OR EXISTS (
    SELECT 1 FROM inbox INDEXED BY inbox_open
    WHERE lane > ?1 || '/' AND lane < ?1 || '0' AND state <> 'done'
) OR EXISTS (
    SELECT 1 FROM jobs WHERE key > ?3 || ':' AND key < ?3 || ';' AND due_at IS NOT NULL
);

-- name: messages
-- Messages of a conversation that have ended, with their bodies.
SELECT id, body, reply_body, result_body FROM inbox INDEXED BY inbox_lane
WHERE lane = ?1 AND epoch = ?2 AND state = 'done' ORDER BY seq LIMIT ?3;

-- name: has_open_replies
-- Whether a reply of a conversation is still on its way, or a dead letter.
SELECT EXISTS (
    SELECT 1 FROM inbox INDEXED BY inbox_lane JOIN outbox ON outbox.message_id = inbox.id
    WHERE lane = ?1 AND epoch = ?2 AND outbox.state <> 'sent'
        AND NOT (outbox.state = 'dead' AND coalesce(outbox.failure, '') = 'dropped')
);

-- name: drop_refs
-- Forget where the branches of a graph stand.
DELETE FROM refs WHERE graph = ?1;

-- name: drop_moves
-- Forget the log of a graph.
DELETE FROM moves WHERE graph = ?1;

-- name: drop_chunks
-- Forget the trees of a graph.
DELETE FROM chunks WHERE graph = ?1;

-- name: drop_calls
-- Forget the calls of a graph.
DELETE FROM calls WHERE graph = ?1;

-- name: drop_links
-- Forget what a graph says of other graphs.
DELETE FROM links WHERE graph = ?1;

-- name: drop_feedback
-- Forget the thumbs of a graph.
DELETE FROM feedback WHERE graph = ?1;

-- name: drop_blobs
-- Forget the messages of a graph.
DELETE FROM blobs WHERE graph = ?1 AND name IS NOT NULL;

-- name: drop_replays
-- Forget the replays of the messages of a graph.
DELETE FROM replays WHERE graph = ?1;

-- name: drop_graph
-- Forget a graph.
DELETE FROM graphs WHERE id = ?1;

-- name: set_aside_tools
-- Put the tools of all calls aside; those that a call used meanwhile are stored again.
UPDATE blobs SET graph = -1 WHERE graph = 0 AND name IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM blobs AS other
    WHERE other.graph = -1 AND other.name = blobs.name AND other.person_id = blobs.person_id
);

-- name: tools_aside
-- The tools that were put aside.
SELECT id, name FROM blobs WHERE graph = -1 AND name IS NOT NULL;

-- name: calls_after
-- Calls after one, in the order of their keys.
SELECT graph, branch, number, data FROM calls WHERE (graph, branch, number) > (?1, ?2, ?3)
ORDER BY graph, branch, number LIMIT ?4;

-- name: bring_back_tools
-- Tools that a call refers to are stored as before.
UPDATE blobs SET graph = 0 WHERE id = ?1 AND NOT EXISTS (
    SELECT 1 FROM blobs AS other
    WHERE other.graph = 0 AND other.name = blobs.name AND other.person_id = blobs.person_id
);

-- name: drop_tools_aside
-- Forget the tools that no call refers to.
DELETE FROM blobs WHERE graph = -1 AND name IS NOT NULL;

-- name: drop_soul
-- Forget what a conversation began with.
DELETE FROM souls WHERE lane = ?1 AND epoch = ?2;

-- name: drop_jobs
-- Forget what would be done if a conversation went on.
DELETE FROM jobs WHERE key > ?1 || ':' AND key < ?1 || ';';

-- name: drop_child
-- Forget the lane of a subagent whose conversation is gone.
DELETE FROM lanes WHERE key = ?1 AND owner IS NULL
    AND NOT EXISTS (SELECT 1 FROM inbox INDEXED BY inbox_open WHERE lane = ?1 AND state <> 'done')
    AND NOT EXISTS (SELECT 1 FROM graphs WHERE name >= ?1 || '#' AND name < ?1 || '$');
