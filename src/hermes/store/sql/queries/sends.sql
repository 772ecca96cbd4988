-- name: session
-- A session by its lane, unless its person was erased.
SELECT key, lanes.person_id, lanes.used_at, lanes.epoch, (
    SELECT account FROM inbox WHERE lane = lanes.key ORDER BY seq DESC LIMIT 1
)
FROM lanes JOIN people ON people.id = lanes.person_id AND people.erased_at IS NULL
WHERE key = ?1;

-- name: sessions_of_group
-- The sessions that people have in a group or thread, each their own, read along the lanes that begin with it.
SELECT key, lanes.person_id, lanes.used_at, lanes.epoch, (
    SELECT account FROM inbox WHERE lane = lanes.key ORDER BY seq DESC LIMIT 1
)
FROM lanes JOIN people ON people.id = lanes.person_id AND people.erased_at IS NULL
WHERE key >= ?1 || ':' AND key < ?1 || ';' AND key NOT LIKE '%/%' AND key NOT LIKE '%#%'
ORDER BY used_at DESC LIMIT ?2;

-- name: lanes_of_late
-- The lanes that a person wrote in of late, the newest first.
SELECT lane, max(seq) FROM (
    SELECT lane, seq FROM inbox WHERE person_id = ?1 AND control = 0 ORDER BY seq DESC LIMIT 500
) GROUP BY lane ORDER BY 2 DESC;

-- name: open_chat
-- The session of a chat that begins with what is sent there.
INSERT INTO lanes (key, person_id, platform, chat_id, used_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (key) DO NOTHING;
