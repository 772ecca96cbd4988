-- Whose a session, an invitation or a link is: the person's id in the web chat. Until now everybody who
-- had signed in was the owner.
ALTER TABLE credentials ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
UPDATE credentials SET user_id = 'owner' WHERE kind IN ('signin', 'session');
CREATE INDEX credentials_user ON credentials (user_id) WHERE user_id <> '';

-- A conversation of the web chat has belonged to whoever could sign in: they go on for the owner.
INSERT OR IGNORE INTO lane_writers (lane, user_id)
SELECT key, 'owner' FROM lanes
WHERE platform = 'web' AND key GLOB 'agent:*:web:dm:*' AND instr(key, '#') = 0 AND instr(key, '/') = 0;
