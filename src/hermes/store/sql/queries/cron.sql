-- name: add
-- A new job.
INSERT INTO cron_jobs (id, person_id, sealed, created_at, next_at) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: count
-- How many jobs of a person are to run some time.
SELECT count(*) FROM cron_jobs WHERE person_id = ?1 AND next_at IS NOT NULL;

-- name: forget_finished
-- Jobs of a person that ran for the last time before then.
DELETE FROM cron_jobs WHERE person_id = ?1 AND next_at IS NULL AND last_at < ?2;

-- name: get
-- One job, with the outcome of its last run.
SELECT job.id, job.person_id, sealed, created_at, next_at, paused_at, reason, last_at, last_message,
    runs, missed, missed_at, coalesce(outcome, state)
FROM cron_jobs AS job LEFT JOIN inbox ON inbox.id = last_message WHERE job.id = ?1;

-- name: of_person
-- The jobs of a person, the oldest first.
SELECT job.id, job.person_id, sealed, created_at, next_at, paused_at, reason, last_at, last_message,
    runs, missed, missed_at, coalesce(outcome, state)
FROM cron_jobs AS job LEFT JOIN inbox ON inbox.id = last_message
WHERE job.person_id = ?1 ORDER BY created_at, job.id;

-- name: page
-- Everybody's jobs, the next to run first.
SELECT job.id, job.person_id, sealed, created_at, next_at, paused_at, reason, last_at, last_message,
    runs, missed, missed_at, coalesce(outcome, state)
FROM cron_jobs AS job LEFT JOIN inbox ON inbox.id = last_message
ORDER BY next_at IS NULL, paused_at IS NOT NULL, next_at, job.id LIMIT ?1;

-- name: due
-- Jobs that are due, the longest first.
SELECT id, person_id, sealed, created_at, next_at, paused_at, reason, last_at, last_message,
    runs, missed, missed_at, NULL
FROM cron_jobs WHERE next_at IS NOT NULL AND paused_at IS NULL AND next_at <= ?1
ORDER BY next_at LIMIT ?2;

-- name: waiting
-- Jobs that are to run some time.
SELECT id, person_id, sealed, created_at, next_at, paused_at, reason, last_at, last_message,
    runs, missed, missed_at, NULL
FROM cron_jobs WHERE next_at IS NOT NULL AND paused_at IS NULL;

-- name: next_due
-- When the next job becomes due.
SELECT min(next_at) FROM cron_jobs WHERE next_at IS NOT NULL AND paused_at IS NULL;

-- name: set
-- A job that is moved, paused or resumed, unless it has moved on or was changed before.
UPDATE cron_jobs SET next_at = ?3, paused_at = ?4, reason = ?5
WHERE id = ?1 AND next_at IS NOT DISTINCT FROM ?2 AND paused_at IS NOT DISTINCT FROM ?6;

-- name: move
-- A job whose instant has had its message already.
UPDATE cron_jobs SET next_at = ?3 WHERE id = ?1 AND next_at IS NOT DISTINCT FROM ?2;

-- name: run
-- A job that runs: it moves on, and what was missed is counted.
UPDATE cron_jobs SET next_at = ?3, last_at = ?4, last_message = ?5, runs = runs + 1,
    missed = missed + ?6, missed_at = CASE WHEN ?6 > 0 THEN ?4 ELSE missed_at END
WHERE id = ?1 AND next_at IS NOT DISTINCT FROM ?2 AND person_id = ?7 AND (paused_at IS NULL OR ?8 = 1);

-- name: remove
-- A job that is no more.
DELETE FROM cron_jobs WHERE id = ?1;

-- name: forget_person
-- The jobs of somebody who is erased.
DELETE FROM cron_jobs WHERE person_id = ?1;

-- name: sealed_of
-- What the jobs of a person do.
SELECT id, sealed FROM cron_jobs WHERE person_id = ?1;

-- name: hand_over
-- A job that belongs to another person from now on; what its last run answered stays the former one's.
UPDATE cron_jobs SET person_id = ?2, sealed = ?3, last_message = NULL WHERE id = ?1;
