-- Whether a key may find what its person said, on all platforms.
ALTER TABLE caller_keys ADD COLUMN read_history INTEGER NOT NULL DEFAULT 0;

-- The sessions of a person, who asks for them over MCP.
CREATE INDEX lanes_person ON lanes (person_id);
