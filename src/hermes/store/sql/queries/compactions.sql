-- name: graphs_of
-- Graphs with compactions in which a person wrote.
SELECT graphs.id, graphs.name FROM refs JOIN graphs ON graphs.id = refs.graph
WHERE refs.branch = ?2 AND EXISTS (
    SELECT 1 FROM blobs
    WHERE blobs.graph = refs.graph AND blobs.name IS NOT NULL AND blobs.person_id = ?1
);

-- name: empty
-- A summary of which nothing is left, because somebody whose words are in it was erased.
UPDATE blobs SET person_id = ?3, sealed = ?4 WHERE graph = ?1 AND name = ?2;

-- name: drop_copies
-- A summary that is sealed for the erased person already needs no other row.
DELETE FROM blobs WHERE graph = ?1 AND name = ?2 AND person_id <> ?3 AND EXISTS (
    SELECT 1 FROM blobs AS own WHERE own.graph = ?1 AND own.name = ?2 AND own.person_id = ?3
);

-- name: end_job
-- A job that is done.
DELETE FROM jobs WHERE key = ?1;
