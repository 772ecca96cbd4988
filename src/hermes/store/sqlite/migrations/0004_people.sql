-- People: who was let in and how, who is blocked, what their channels belonged to before, and the
-- one-time codes of pairing and linking. Nobody of before was let in by anybody: where a platform
-- is open, nothing changes for them.

ALTER TABLE people ADD COLUMN blocked_at REAL;

ALTER TABLE user_channels ADD COLUMN added_at REAL NOT NULL DEFAULT 0;
ALTER TABLE user_channels ADD COLUMN activated_at REAL;
ALTER TABLE user_channels ADD COLUMN activated_how TEXT;
ALTER TABLE user_channels ADD COLUMN was_person TEXT;
ALTER TABLE user_channels ADD COLUMN name BLOB;
ALTER TABLE user_channels ADD COLUMN name_digest BLOB;
UPDATE user_channels
SET added_at = coalesce((SELECT created_at FROM people WHERE id = person_id), 0);
CREATE INDEX people_blocked ON people (id) WHERE blocked_at IS NOT NULL;
CREATE INDEX people_erased ON people (id) WHERE erased_at IS NOT NULL;
CREATE INDEX user_channels_person ON user_channels (person_id);
CREATE INDEX user_channels_active ON user_channels (person_id) WHERE activated_at IS NOT NULL;
CREATE INDEX user_channels_was ON user_channels (was_person) WHERE was_person IS NOT NULL;

CREATE TABLE pairings (
    platform TEXT NOT NULL,
    user_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    digest BLOB NOT NULL,
    asked_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (platform, user_id)
) WITHOUT ROWID;
CREATE INDEX pairings_person ON pairings (person_id);

CREATE TABLE link_codes (
    digest BLOB PRIMARY KEY,
    person_id TEXT NOT NULL,
    made_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    lets_in INTEGER NOT NULL,
    used_by TEXT
) WITHOUT ROWID;
CREATE INDEX link_codes_person ON link_codes (person_id);
CREATE INDEX link_codes_expiry ON link_codes (expires_at);

CREATE TABLE wrong_codes (
    kind TEXT NOT NULL,
    platform TEXT NOT NULL,
    user_id TEXT NOT NULL,
    failures INTEGER NOT NULL,
    last_at REAL NOT NULL,
    locked_until REAL NOT NULL,
    PRIMARY KEY (kind, platform, user_id)
) WITHOUT ROWID;
