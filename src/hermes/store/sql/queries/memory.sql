-- name: people
-- The people about whom something is known, those of the newest facts first.
SELECT person_id, count(*), max(at) FROM facts GROUP BY person_id ORDER BY max(at) DESC LIMIT ?1;

-- name: of_person
-- The facts of a person, the oldest first.
SELECT id, sealed FROM facts WHERE person_id = ?1 ORDER BY at, id LIMIT ?2;

-- name: fact
-- One fact of a person.
SELECT sealed FROM facts WHERE id = ?1 AND person_id = ?2;

-- name: put_fact
-- A fact, new or in the place of the one with its id.
INSERT INTO facts (id, person_id, at, sealed) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed WHERE facts.person_id = excluded.person_id;

-- name: forget_fact
-- A fact that is no longer known.
DELETE FROM facts WHERE id = ?1 AND person_id = ?2;

-- name: forget_facts
-- Nothing is known of a person any more.
DELETE FROM facts WHERE person_id = ?1;

-- name: soul
-- The blocks with which a session's conversation began.
SELECT person_id, shared_from, sealed FROM souls WHERE lane = ?1 AND epoch = ?2;

-- name: put_soul
-- The blocks of a conversation's first turn, or of the first by another person.
INSERT INTO souls (lane, epoch, person_id, shared_from, sealed) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (lane) DO UPDATE SET epoch = excluded.epoch, person_id = excluded.person_id,
    shared_from = excluded.shared_from, sealed = excluded.sealed
WHERE excluded.epoch > souls.epoch
    OR (excluded.epoch = souls.epoch AND souls.shared_from IS NULL);

-- name: said_before
-- The newest answered messages of a person outside of one conversation, of subagents and temporary ones.
SELECT id, body, received_at, lane, epoch, coalesce(merged_into, id) FROM inbox
WHERE person_id = ?1 AND control = 0 AND NOT (lane = ?2 AND epoch = ?3) AND lane NOT LIKE '%/%'
    AND NOT EXISTS (SELECT 1 FROM lanes WHERE lanes.key = inbox.lane AND lanes.temporary <> 0)
    AND NOT EXISTS (
        SELECT 1 FROM inbox AS turn WHERE turn.id = coalesce(inbox.merged_into, inbox.id)
            AND turn.outcome IN ('failed', 'refused', 'expired')
    )
ORDER BY seq DESC LIMIT ?4;

-- name: put_job
-- A job, or one that is put off because its session went on.
INSERT INTO jobs (key, kind, lane, epoch, person_id, due_at, latest_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (key) DO UPDATE SET
    latest_at = CASE WHEN jobs.due_at IS NULL THEN excluded.latest_at ELSE jobs.latest_at END,
    due_at = CASE WHEN jobs.due_at IS NULL OR jobs.attempts > 0
        OR excluded.due_at < jobs.latest_at THEN excluded.due_at ELSE jobs.latest_at END,
    attempts = 0, touched = jobs.touched + 1, failure = NULL;

-- name: put_patient_job
-- A job that stays as it is if it waits already; one that was given up is tried again.
INSERT INTO jobs (key, kind, lane, epoch, person_id, due_at, latest_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (key) DO UPDATE SET
    attempts = CASE WHEN jobs.due_at IS NULL THEN 0 ELSE jobs.attempts END,
    due_at = coalesce(jobs.due_at, excluded.due_at);

-- name: due_jobs
-- Jobs of some kinds, or of all, that are due, the longest first.
SELECT key, kind, lane, epoch, person_id, attempts, touched, covered, latest_at FROM jobs
WHERE due_at IS NOT NULL AND due_at <= ?1
    AND (?3 IS NULL OR kind IN (SELECT value FROM json_each(?3)))
ORDER BY due_at LIMIT ?2;

-- name: next_job
-- When the next job becomes due.
SELECT min(due_at) FROM jobs WHERE due_at IS NOT NULL;

-- name: finish_job
-- A job that is done, unless its session went on while it ran.
UPDATE jobs SET covered = ?3, attempts = 0, failure = NULL,
    due_at = CASE WHEN touched = ?2 THEN NULL ELSE due_at END
WHERE key = ?1 AND covered = ?4;

-- name: put_off_job
-- A job that failed, or was refused, and waits, for a time or for the session to go on.
UPDATE jobs SET due_at = ?3, attempts = attempts + ?5, failure = ?4
WHERE key = ?1 AND touched = ?2;

-- name: parked_jobs
-- How many jobs were given up.
SELECT count(*) FROM jobs WHERE due_at IS NULL AND failure IS NOT NULL;

-- name: forget_jobs
-- Nothing is left to learn about a person.
DELETE FROM jobs WHERE person_id = ?1;

-- name: forget_dream
-- What was made of what was known of a person goes with it.
DELETE FROM dreams WHERE person_id = ?1;
