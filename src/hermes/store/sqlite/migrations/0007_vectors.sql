-- Vectors in pages, and which facts still lack theirs; vectors that were kept one by one are made
-- anew.

DROP TABLE fact_vectors;

CREATE TABLE vector_pages (
    person_id TEXT NOT NULL,
    model TEXT NOT NULL,
    number INTEGER NOT NULL,
    count INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (person_id, model, number)
);

CREATE TABLE vectors_wanted (
    person_id TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    PRIMARY KEY (person_id, fact_id)
) WITHOUT ROWID;

INSERT INTO vectors_wanted (person_id, fact_id) SELECT person_id, id FROM facts;
