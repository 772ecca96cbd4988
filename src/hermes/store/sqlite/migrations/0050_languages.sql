-- The language in which a person wants to be spoken with; empty: the one of their platform.
ALTER TABLE people ADD COLUMN language TEXT NOT NULL DEFAULT '';
