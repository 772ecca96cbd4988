-- name: pages
-- The pages of a person that one model made.
SELECT number, sealed FROM vector_pages WHERE person_id = ?1 AND model = ?2 ORDER BY number;

-- name: all_pages
-- Every page of a person.
SELECT model, number, sealed FROM vector_pages WHERE person_id = ?1;

-- name: page
-- One page of a person.
SELECT sealed FROM vector_pages WHERE person_id = ?1 AND model = ?2 AND number = ?3;

-- name: counts
-- How many vectors are in the pages of a person that one model made.
SELECT number, count FROM vector_pages WHERE person_id = ?1 AND model = ?2 ORDER BY number;

-- name: foreign
-- A page of a person that another model made, if there is one.
SELECT 1 FROM vector_pages WHERE person_id = ?1 AND model <> ?2 LIMIT 1;

-- name: put_page
-- A page, new or in the place of the one with its number.
INSERT INTO vector_pages (person_id, model, number, count, sealed) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (person_id, model, number) DO UPDATE SET
    count = excluded.count, sealed = excluded.sealed;

-- name: drop_page
-- A page in which nothing is left.
DELETE FROM vector_pages WHERE person_id = ?1 AND model = ?2 AND number = ?3;

-- name: drop_pages
-- No vector of a person is left.
DELETE FROM vector_pages WHERE person_id = ?1;

-- name: waiting
-- Facts of a person that have no vector yet.
SELECT facts.id, facts.sealed FROM vectors_wanted JOIN facts ON facts.id = vectors_wanted.fact_id
WHERE vectors_wanted.person_id = ?1 AND facts.person_id = ?1
ORDER BY vectors_wanted.fact_id LIMIT ?2;

-- name: is_wanted
-- Whether a fact of a person has no vector yet.
SELECT 1 FROM vectors_wanted WHERE person_id = ?1 AND fact_id = ?2;

-- name: want
-- A fact of a person whose vector is to be made.
INSERT INTO vectors_wanted (person_id, fact_id)
SELECT person_id, id FROM facts WHERE id = ?2 AND person_id = ?1
ON CONFLICT DO NOTHING;

-- name: want_all
-- The vectors of all facts of a person are to be made.
INSERT INTO vectors_wanted (person_id, fact_id)
SELECT person_id, id FROM facts WHERE person_id = ?1
ON CONFLICT DO NOTHING;

-- name: unwant
-- A fact whose vector is made, or that is gone.
DELETE FROM vectors_wanted WHERE person_id = ?1 AND fact_id = ?2;

-- name: unwant_all
-- No vector of a person is to be made.
DELETE FROM vectors_wanted WHERE person_id = ?1;

-- name: any
-- Whether a person has a fact that has a vector or waits for one.
SELECT EXISTS (SELECT 1 FROM vector_pages WHERE person_id = ?1)
    OR EXISTS (SELECT 1 FROM vectors_wanted WHERE person_id = ?1);
