-- name: get
-- A value of a platform.
SELECT sealed FROM channel_state WHERE platform = ?1 AND key = ?2;

-- name: put
-- Keep a value, unless a later holder of the channel's claim has written it since.
INSERT INTO channel_state (platform, key, sealed, fence, at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (platform, key) DO UPDATE SET
    sealed = excluded.sealed, fence = coalesce(excluded.fence, channel_state.fence), at = excluded.at
WHERE coalesce(channel_state.fence, 0) <= coalesce(excluded.fence, channel_state.fence, 0);

-- name: drop
-- Forget a value, unless a later holder of the channel's claim has written it since.
DELETE FROM channel_state
WHERE platform = ?1 AND key = ?2 AND coalesce(fence, 0) <= coalesce(?3, fence, 0);

-- name: trim
-- Forget the values of a range of keys, from ?2 to below ?3, but for the newest.
DELETE FROM channel_state WHERE platform = ?1 AND key >= ?2 AND key < ?3 AND key NOT IN (
    SELECT key FROM channel_state WHERE platform = ?1 AND key >= ?2 AND key < ?3
    ORDER BY at DESC, key LIMIT ?4
);

-- name: has_key
-- Whether there is a key that seals values.
SELECT 1 FROM person_keys WHERE person_id = ?1;
