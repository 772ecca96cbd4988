-- name: chats
-- Every chat that is known by name, or those of one platform.
SELECT platform, chat_id, owner, sealed, is_listed FROM directory
WHERE platform = coalesce(?1, platform) ORDER BY platform, chat_id;

-- name: put
-- Keep a chat.
INSERT INTO directory (platform, chat_id, owner, sealed, is_listed, seen_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (platform, chat_id) DO UPDATE SET
    owner = excluded.owner, sealed = excluded.sealed,
    is_listed = CASE WHEN excluded.is_listed > directory.is_listed
        THEN excluded.is_listed ELSE directory.is_listed END, seen_at = excluded.seen_at;

-- name: drop
-- Forget a chat.
DELETE FROM directory WHERE platform = ?1 AND chat_id = ?2;

-- name: forget_person
-- Forget the direct chats of somebody who was erased.
DELETE FROM directory WHERE owner = ?1;

-- name: has_key
-- Whether names can be sealed for somebody.
SELECT 1 FROM person_keys WHERE person_id = ?1;
