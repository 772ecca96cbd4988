-- When a browser's session was last used.
ALTER TABLE credentials ADD COLUMN seen_at REAL;
CREATE INDEX credentials_parent ON credentials (parent) WHERE parent IS NOT NULL;
-- Sessions of REST from the time when everybody who used the name of a conversation was in it: the
-- senders who may have written all that is in one, '' where several people wrote. It never grows.
CREATE TABLE lane_writers (
    lane TEXT NOT NULL,
    user_id TEXT NOT NULL,
    PRIMARY KEY (lane, user_id)
) WITHOUT ROWID;
-- A sender may have written a session if everybody who is in it is the sender's person, or was it
-- before the sender was linked to another one.
INSERT INTO lane_writers (lane, user_id)
WITH old (lane, person_id) AS MATERIALIZED (
    SELECT key, person_id FROM lanes
    WHERE platform = 'rest' AND key GLOB 'agent:*:rest:dm:*'
        AND instr(key, '#') = 0 AND instr(key, '/') = 0
),
people_in (lane, person_id) AS MATERIALIZED (
    SELECT lane, person_id FROM old
    UNION
    SELECT old.lane, inbox.person_id FROM old CROSS JOIN inbox INDEXED BY inbox_lane
    ON inbox.lane = old.lane
    UNION
    SELECT old.lane, blobs.person_id FROM old
    CROSS JOIN graphs ON graphs.name >= old.lane || '#' AND graphs.name < old.lane || '$'
    CROSS JOIN blobs INDEXED BY blobs_name ON blobs.graph = graphs.id AND blobs.name IS NOT NULL
),
alone (lane, user_id) AS MATERIALIZED (
    SELECT old.lane, sender.user_id FROM old JOIN user_channels AS sender
    ON sender.platform = 'rest' AND old.person_id IN (sender.person_id, sender.was_person)
    WHERE NOT EXISTS (
        SELECT 1 FROM people_in WHERE people_in.lane = old.lane
            AND people_in.person_id <> sender.person_id
            AND people_in.person_id IS NOT sender.was_person
    )
)
SELECT lane, user_id FROM alone
UNION ALL
SELECT lane, '' FROM old WHERE lane NOT IN (SELECT lane FROM alone);
