-- name: page
-- Messages of a caller over A2A, the newest change first; a range of their unique names.
SELECT seq, id, lane, person_id, body, state, busy, control, received_at, attempts, external_id,
    platform, outcome, done_at, merged_into, interrupted_by,
    coalesce(done_at, started_at, received_at) AS changed_at
FROM inbox
WHERE account = ?1 AND platform = ?2 AND route = ?3 AND external_id >= ?4 AND external_id < ?5
    AND control = 0
    AND (?6 = '' OR lane IN (SELECT key FROM lanes WHERE lanes.platform = ?2 AND chat_id = ?6))
    AND (?7 = '' OR ?7 LIKE '%,' || coalesce(outcome, state) || ',%')
    AND coalesce(done_at, started_at, received_at) >= ?8
    AND (coalesce(done_at, started_at, received_at) < ?9
        OR (coalesce(done_at, started_at, received_at) = ?9 AND seq < ?10))
ORDER BY changed_at DESC, seq DESC LIMIT ?11;

-- name: count
-- How many messages all pages have.
SELECT count(*) FROM inbox
WHERE account = ?1 AND platform = ?2 AND route = ?3 AND external_id >= ?4 AND external_id < ?5
    AND control = 0
    AND (?6 = '' OR lane IN (SELECT key FROM lanes WHERE lanes.platform = ?2 AND chat_id = ?6))
    AND (?7 = '' OR ?7 LIKE '%,' || coalesce(outcome, state) || ',%')
    AND coalesce(done_at, started_at, received_at) >= ?8;

-- name: put_push
-- Where to notify of a task; a changed one is told what is so now.
INSERT INTO task_pushes (task_id, id, person_id, sealed, due_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (task_id, id) DO UPDATE SET sealed = excluded.sealed, due_at = excluded.due_at,
    told = '', attempts = 0, ended_at = NULL;

-- name: others
-- How many other places a task has, and a person's tasks have, that may still be notified.
SELECT (SELECT count(*) FROM task_pushes WHERE task_id = ?1 AND id <> ?2),
    (SELECT count(*) FROM task_pushes WHERE person_id = ?3 AND ended_at IS NULL);

-- name: pushes
-- The places of a task.
SELECT id, person_id, sealed FROM task_pushes WHERE task_id = ?1 ORDER BY id;

-- name: drop_push
-- Notify one no more.
DELETE FROM task_pushes WHERE task_id = ?1 AND id = ?2;

-- name: drop_of_person
-- Forget the places of a person who is erased.
DELETE FROM task_pushes WHERE person_id = ?1;

-- name: due
-- Places that do not know yet how a task ended, or which approval it waits for; some of each person.
SELECT task_id, id, person_id, sealed, attempts, state, outcome, news FROM (
    SELECT push.task_id, push.id, push.person_id, sealed, push.attempts, state, outcome, due_at,
        coalesce(outcome, waiting_on) AS news,
        row_number() OVER (PARTITION BY push.person_id ORDER BY due_at) AS number
    FROM task_pushes AS push JOIN inbox ON inbox.id = push.task_id
        LEFT JOIN lanes ON lanes.key = inbox.lane
    WHERE push.ended_at IS NULL AND due_at <= ?1
        AND (state = 'done' OR (state = 'parked' AND waiting_on IS NOT NULL))
        AND told <> coalesce(outcome, waiting_on)
) WHERE number <= ?3 ORDER BY due_at LIMIT ?2;

-- name: begin_push
-- Take a notification, unless another process was faster.
UPDATE task_pushes SET attempts = attempts + 1, due_at = ?4
WHERE task_id = ?1 AND id = ?2 AND attempts = ?3 AND ended_at IS NULL;

-- name: told
-- A notification arrived, or was given up: what a place knows now, if it was not replaced.
UPDATE task_pushes SET told = ?3, attempts = 0, due_at = ?4, ended_at = ?5
WHERE task_id = ?1 AND id = ?2 AND attempts = ?6;

-- name: retry_push
-- A notification is tried again, if its place was not replaced.
UPDATE task_pushes SET due_at = ?3 WHERE task_id = ?1 AND id = ?2 AND attempts = ?4;
