-- name: standing
-- Whose a channel is, whether it was let in, and whether they are blocked.
SELECT person_id, activated_at IS NOT NULL, blocked_at IS NOT NULL
FROM user_channels JOIN people ON people.id = person_id
WHERE platform = ?1 AND user_id = ?2;

-- name: any_blocked
-- Whether anybody is blocked.
SELECT 1 FROM people WHERE blocked_at IS NOT NULL LIMIT 1;

-- name: get
-- One person; whether a channel of theirs was let in.
SELECT id, created_at, tier, may_train, blocked_at, erased_at,
    EXISTS (SELECT 1 FROM user_channels WHERE person_id = id AND activated_at IS NOT NULL)
FROM people WHERE id = ?1;

-- name: owner_person
-- The person who owns this gateway.
SELECT CAST(value AS TEXT) FROM meta WHERE key = 'owner_person';

-- name: set_owner_person
-- The person who owns this gateway.
INSERT INTO meta (key, value) VALUES ('owner_person', ?1)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: activate_of
-- A channel of a person is let in.
UPDATE user_channels SET activated_at = ?4, activated_how = 'operator'
WHERE platform = ?1 AND user_id = ?2 AND person_id = ?3 AND activated_at IS NULL;

-- name: is_blocked
-- Whether a person is blocked.
SELECT 1 FROM people WHERE id = ?1 AND blocked_at IS NOT NULL;

-- name: page_owner
-- The owner, unless blocked or erased.
SELECT id, created_at, tier, may_train, blocked_at, erased_at, 1 FROM people
WHERE id = (SELECT CAST(value AS TEXT) FROM meta WHERE key = 'owner_person')
    AND erased_at IS NULL AND blocked_at IS NULL LIMIT ?1;

-- name: page_all
-- Everybody who is not erased, the newest first.
SELECT id, created_at, tier, may_train, blocked_at, erased_at,
    EXISTS (SELECT 1 FROM user_channels WHERE person_id = id AND activated_at IS NOT NULL)
FROM people WHERE erased_at IS NULL ORDER BY id DESC LIMIT ?1;

-- name: page_guest
-- People whom nobody has let in, the newest first.
SELECT id, created_at, tier, may_train, blocked_at, erased_at, 0
FROM people WHERE erased_at IS NULL AND blocked_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM user_channels WHERE person_id = id AND activated_at IS NOT NULL
) ORDER BY id DESC LIMIT ?1;

-- name: page_active
-- People who were let in, the newest first.
SELECT DISTINCT id, created_at, tier, may_train, blocked_at, erased_at, 1
FROM user_channels AS channel INDEXED BY user_channels_active
    JOIN people ON id = person_id
WHERE activated_at IS NOT NULL AND erased_at IS NULL AND blocked_at IS NULL
    AND id <> coalesce((SELECT CAST(value AS TEXT) FROM meta WHERE key = 'owner_person'), '')
ORDER BY id DESC LIMIT ?1;

-- name: page_blocked
-- People who are blocked, the newest first.
SELECT id, created_at, tier, may_train, blocked_at, erased_at, 0 FROM people INDEXED BY people_blocked
WHERE blocked_at IS NOT NULL AND erased_at IS NULL ORDER BY id DESC LIMIT ?1;

-- name: page_erased
-- People who were erased, the newest first.
SELECT id, created_at, tier, may_train, blocked_at, erased_at, 0 FROM people INDEXED BY people_erased
WHERE erased_at IS NOT NULL ORDER BY id DESC LIMIT ?1;

-- name: silent
-- People, or one, of whom nothing came since then, and whom nothing else keeps (docs/settings.md says what).
SELECT people.id FROM people
    LEFT JOIN (
        SELECT person_id, max(used_at) AS at FROM lanes
        WHERE ?4 = '' OR person_id = ?4 GROUP BY person_id
    ) AS used ON used.person_id = people.id
    LEFT JOIN (
        SELECT person_id, max(at) AS at FROM interactions
        WHERE ?4 = '' OR person_id = ?4 GROUP BY person_id
    ) AS answered ON answered.person_id = people.id
WHERE people.id > ?3 AND (?4 = '' OR people.id = ?4)
    AND erased_at IS NULL AND blocked_at IS NULL
    AND created_at < ?1 AND coalesce(used.at, 0) < ?1 AND coalesce(answered.at, 0) < ?1
    AND people.id <> coalesce((SELECT CAST(value AS TEXT) FROM meta WHERE key = 'owner_person'), '')
    AND EXISTS (SELECT 1 FROM user_channels WHERE user_channels.person_id = people.id)
    AND NOT EXISTS (
        SELECT 1 FROM inbox WHERE inbox.person_id = people.id AND control = 0 AND received_at >= ?1
    )
    AND NOT EXISTS (
        SELECT 1 FROM user_channels AS own
        WHERE own.person_id = people.id AND (own.added_at >= ?1 OR own.activated_at >= ?1)
    )
    AND NOT EXISTS (
        SELECT 1 FROM ledger WHERE ledger.person_id = people.id AND ledger.at >= ?1
    )
    AND NOT EXISTS (
        SELECT 1 FROM wallets JOIN ledger AS given ON given.person_id = wallets.person_id
        WHERE wallets.person_id = people.id AND balance > 0
            AND given.kind = 'grant' AND given.message_id <> 'start:' || people.id
            AND substr(given.message_id, 1, 8) <> 'opening:'
    )
    AND NOT EXISTS (
        SELECT 1 FROM inbox WHERE inbox.person_id = people.id AND state <> 'done'
    )
    AND NOT EXISTS (
        SELECT 1 FROM caller_keys WHERE caller_keys.person_id = people.id AND revoked_at IS NULL
    )
    AND NOT EXISTS (
        SELECT 1 FROM cron_jobs WHERE cron_jobs.person_id = people.id AND next_at IS NOT NULL
    )
ORDER BY people.id LIMIT ?2;

-- name: paired
-- The channels that were let in by a code.
SELECT platform, user_id, person_id, added_at, activated_at, activated_how, was_person, name
FROM user_channels INDEXED BY user_channels_active
WHERE activated_at IS NOT NULL AND activated_how = 'paired' ORDER BY person_id DESC LIMIT ?1;

-- name: channels
-- The channels of a person.
SELECT platform, user_id, person_id, added_at, activated_at, activated_how, was_person, name
FROM user_channels WHERE person_id = ?1 ORDER BY added_at, platform, user_id;

-- name: channels_left
-- The channels that were a person's until they were linked to another.
SELECT platform, user_id, person_id, added_at, activated_at, activated_how, was_person, NULL
FROM user_channels WHERE was_person = ?1 ORDER BY added_at, platform, user_id;

-- name: owner
-- Whose a channel is, and whose it was before.
SELECT person_id, was_person FROM user_channels WHERE platform = ?1 AND user_id = ?2;

-- name: is_there
-- Whether a person is there and not erased.
SELECT 1 FROM people WHERE id = ?1 AND erased_at IS NULL;

-- name: activate
-- Somebody let a channel in.
UPDATE user_channels SET activated_at = ?4, activated_how = ?3
WHERE platform = ?1 AND user_id = ?2 AND activated_at IS NULL;

-- name: deactivate
-- A channel is no longer let in.
UPDATE user_channels SET activated_at = NULL, activated_how = NULL
WHERE platform = ?1 AND user_id = ?2 AND activated_at IS NOT NULL;

-- name: block
-- A person is blocked on all channels.
UPDATE people SET blocked_at = ?2 WHERE id = ?1 AND blocked_at IS NULL AND erased_at IS NULL;

-- name: unblock
-- A person is no longer blocked.
UPDATE people SET blocked_at = NULL WHERE id = ?1 AND blocked_at IS NOT NULL AND erased_at IS NULL;

-- name: set_tier
-- A person has another tier.
UPDATE people SET tier = ?2 WHERE id = ?1 AND tier <> ?2 AND erased_at IS NULL;

-- name: consent_at
-- When a person last agreed to training, or took it back.
SELECT consent_at FROM people WHERE id = ?1;

-- name: pairings_of
-- The requests of a person to be let in.
SELECT platform, user_id, asked_at, expires_at, state FROM pairings
WHERE person_id = ?1 ORDER BY asked_at, platform, user_id;

-- name: links_of
-- The codes that a person had to link another channel with.
SELECT made_at, expires_at, used_by IS NOT NULL FROM link_codes
WHERE person_id = ?1 ORDER BY made_at;

-- name: link
-- A channel goes to a person; the name was sealed for another.
UPDATE user_channels SET person_id = ?3, was_person = ?4, name = NULL, name_digest = NULL
WHERE platform = ?1 AND user_id = ?2;

-- name: unlink
-- A channel goes back, and is not let in.
UPDATE user_channels SET person_id = ?3, was_person = NULL, activated_at = NULL,
    activated_how = NULL, name = NULL, name_digest = NULL
WHERE platform = ?1 AND user_id = ?2;

-- name: move_keys
-- The keys of a caller go with the channel.
UPDATE caller_keys SET person_id = ?2 WHERE user_id = ?1;

-- name: lanes_of
-- The lanes that a person began on a platform, on any of its accounts.
SELECT key FROM lanes
WHERE (platform = ?1 OR substr(platform, 1, length(?1) + 1) = ?1 || '/') AND person_id = ?2;

-- name: hand_over_lane
-- A lane belongs to another person, with a conversation of its own.
UPDATE lanes SET person_id = ?2, epoch = epoch + 1 WHERE key = ?1;

-- name: last_said
-- The newest message of a person in a lane.
SELECT id, body FROM inbox INDEXED BY inbox_lane
WHERE lane = ?1 AND person_id = ?2 AND control = 0 ORDER BY seq DESC LIMIT 1;

-- name: move_link_codes
-- The open codes of somebody who has no channel left link to whoever has it now.
UPDATE link_codes SET person_id = ?2 WHERE person_id = ?1 AND used_by IS NULL;

-- name: drop_link_codes
-- The codes of somebody who is erased lead to nobody.
DELETE FROM link_codes WHERE person_id = ?1;

-- name: drop_pairings
-- The requests of somebody who is erased.
DELETE FROM pairings WHERE person_id = ?1;
