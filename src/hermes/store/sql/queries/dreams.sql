-- name: any
-- Whether anybody has a dream.
SELECT 1 FROM dreams LIMIT 1;

-- name: get
-- The last dream of a person.
SELECT sealed FROM dreams WHERE person_id = ?1;

-- name: put
-- A dream, in the place of the one before.
INSERT INTO dreams (person_id, at, sealed) VALUES (?1, ?2, ?3)
ON CONFLICT (person_id) DO UPDATE SET at = excluded.at, sealed = excluded.sealed;

-- name: last_begun
-- When the last dream was begun.
SELECT max(latest_at) FROM jobs WHERE kind = 'dream';

-- name: page
-- People in the order of their ids, and whether it is time for a dream of each.
-- It is when none was begun lately, and since then they were answered, or a fact was learnt.
SELECT id, erased_at IS NULL AND blocked_at IS NULL AND job.due_at IS NULL
    AND coalesce(job.latest_at, created_at) <= ?1
    AND (
        EXISTS (
            SELECT 1 FROM facts
            WHERE facts.person_id = people.id AND at > coalesce(job.latest_at, 0)
        ) OR EXISTS (
            SELECT 1 FROM (
                SELECT outcome, platform, inbox.lane FROM inbox
                WHERE inbox.person_id = people.id AND control = 0
                    AND seq > coalesce(job.covered, 0)
                ORDER BY seq DESC LIMIT 200
            ) WHERE outcome = 'answered' AND platform <> 'v1' AND lane NOT LIKE '%/%'
                AND NOT EXISTS (
                    SELECT 1 FROM lanes WHERE lanes.key = lane AND lanes.temporary <> 0
                )
        )
    )
FROM people LEFT JOIN jobs AS job ON job.key = 'dream:' || people.id
WHERE id > ?2 ORDER BY id LIMIT ?3;

-- name: begin
-- The job of a person's dream, begun now.
INSERT INTO jobs (key, kind, lane, epoch, person_id, due_at, latest_at)
VALUES (?1, 'dream', '', 0, ?2, ?3, ?3)
ON CONFLICT (key) DO UPDATE SET due_at = excluded.due_at, latest_at = excluded.latest_at,
    attempts = 0, touched = jobs.touched + 1, failure = NULL
RETURNING attempts, touched, covered;

-- name: said
-- What a person wrote since the last dream, the newest first, not in temporary conversations; programs write as v1.
SELECT seq, id, body, received_at FROM (
    SELECT seq, id, body, received_at, outcome, platform, lane FROM inbox
    WHERE person_id = ?1 AND control = 0 AND seq > ?2 ORDER BY seq DESC LIMIT 200
) WHERE outcome IN ('answered', 'merged') AND platform <> 'v1' AND lane NOT LIKE '%/%'
    AND NOT EXISTS (SELECT 1 FROM lanes WHERE lanes.key = lane AND lanes.temporary <> 0)
ORDER BY seq DESC LIMIT ?3;

-- name: is_known
-- Whether a fact of a person still stands.
SELECT 1 FROM facts WHERE id = ?1 AND person_id = ?2;
