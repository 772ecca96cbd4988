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

-- name: open_answers
-- Answers of models in turns that have not ended.
SELECT blobs.id, blobs.person_id, blobs.sealed
FROM inbox JOIN steps ON steps.message_id = inbox.id JOIN blobs ON blobs.id = steps.body
WHERE inbox.state <> 'done' AND steps.kind = 'model';

-- name: drop_forgotten
-- A body that only the old transcript referred to.
DELETE FROM blobs WHERE id = ?1 AND name IS NULL
    AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.id = ?2);
