-- name: add
-- Remember an answer.
INSERT INTO kept_answers (digest, person_id, agent, model, call_id, body, tokens_in, tokens_out,
    cached_in, reasoning_out, cost_usd, unpriced, stop_reason, at, expires_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15);

-- name: get
-- A remembered answer with its sealed body, in one look: the body of a dropped one may be reused.
SELECT sealed, agent, model, call_id, tokens_in, tokens_out, cached_in, reasoning_out, cost_usd,
    unpriced, stop_reason, at, expires_at, blobs.id
FROM kept_answers JOIN blobs ON blobs.id = body AND blobs.person_id = kept_answers.person_id
WHERE digest = ?1 AND kept_answers.person_id = ?2 AND expires_at > ?3;

-- name: drop
-- Forget an answer, telling its body.
DELETE FROM kept_answers WHERE digest = ?1 AND person_id = ?2 RETURNING body;

-- name: count
-- How many answers are remembered; counted by the page.
SELECT count(*) FROM kept_answers;

-- name: oldest
-- The oldest answers.
SELECT digest, person_id FROM kept_answers ORDER BY at LIMIT ?1;

-- name: fullest
-- Whose the most answers are, and how many; read only when there are too many.
SELECT person_id, count(*) AS answers FROM kept_answers GROUP BY person_id ORDER BY answers DESC, person_id LIMIT 1;

-- name: count_of
-- How many answers of a person are remembered.
SELECT count(*) FROM kept_answers WHERE person_id = ?1;

-- name: oldest_of
-- The oldest answers of a person.
SELECT digest, person_id FROM kept_answers WHERE person_id = ?1 ORDER BY at LIMIT ?2;

-- name: expired
-- Answers that expired before a time.
SELECT digest, person_id FROM kept_answers WHERE expires_at < ?1 LIMIT ?2;

-- name: of_person
-- The answers of a person.
SELECT digest, person_id FROM kept_answers WHERE person_id = ?1;
