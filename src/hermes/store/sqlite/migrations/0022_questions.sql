-- What a running tool asked, sealed: whoever repeats its call takes the question over.
ALTER TABLE approvals ADD COLUMN question INTEGER;
