-- name: sessions
-- The conversations of the old transcript.
SELECT DISTINCT lane, epoch FROM transcript ORDER BY lane, epoch;

-- name: entries
-- What was said in one of them, in order, with whose turn it was and when that ended.
SELECT transcript.message_id, transcript.person_id,
    coalesce((SELECT at FROM interactions WHERE interactions.message_id = transcript.message_id), 0),
    blobs.id, blobs.person_id, blobs.sealed
FROM transcript JOIN blobs ON blobs.id = transcript.body
WHERE lane = ?1 AND epoch = ?2 ORDER BY position;

-- name: reseal
-- The same message in the form that the graph keeps.
UPDATE blobs SET sealed = ?2 WHERE id = ?1;

-- name: drop_transcript
-- The old transcript.
DROP TABLE transcript;
