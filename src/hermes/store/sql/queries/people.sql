-- name: find
-- The person behind a platform's user id.
SELECT person_id, name_digest FROM user_channels WHERE platform = ?1 AND user_id = ?2;

-- name: owner_of_key
-- The person whose key it is.
SELECT person_id FROM caller_keys WHERE id = ?1;

-- name: add_person
-- A new person.
INSERT INTO people (id, created_at) VALUES (?1, ?2);

-- name: add_channel
-- A platform's user id belongs to a person.
INSERT INTO user_channels (platform, user_id, person_id, added_at) VALUES (?1, ?2, ?3, ?4);

-- name: set_name
-- The name that the platform shows, sealed, with a keyed digest that tells whether it changed.
UPDATE user_channels SET name = ?3, name_digest = ?4 WHERE platform = ?1 AND user_id = ?2;

-- name: add_key
-- A person's wrapped data key.
INSERT INTO person_keys (person_id, wrapped) VALUES (?1, ?2);

-- name: key
-- A person's wrapped data key.
SELECT wrapped FROM person_keys WHERE person_id = ?1;

-- name: keys
-- Every wrapped data key.
SELECT person_id, wrapped FROM person_keys;

-- name: keys_after
-- The next wrapped data keys, in the order of their people.
SELECT person_id, wrapped FROM person_keys WHERE person_id > ?1 ORDER BY person_id LIMIT ?2;

-- name: rewrap
-- The same data key under a newer store key.
UPDATE person_keys SET wrapped = ?2 WHERE person_id = ?1;

-- name: drop_key
-- Destroy a person's data key.
DELETE FROM person_keys WHERE person_id = ?1;

-- name: mark_erased
-- Remember when a person was erased.
UPDATE people SET erased_at = ?2, may_train = 0, language = '' WHERE id = ?1;

-- name: is_erased
-- Whether a person was erased on purpose.
SELECT erased_at IS NOT NULL FROM people WHERE id = ?1;

-- name: forget_writing
-- Close the old sessions of a person's senders: nobody goes on in them.
UPDATE OR REPLACE lane_writers SET user_id = ''
WHERE user_id IN (SELECT user_id FROM user_channels WHERE person_id = ?1 AND platform IN ('rest', 'web'));

-- name: forget_channels
-- The person's platform ids are no longer known.
DELETE FROM user_channels WHERE person_id = ?1;

-- name: forget_caller_keys
-- The person's keys open nothing any more.
DELETE FROM caller_keys WHERE person_id = ?1;

-- name: get
-- One person.
SELECT id, created_at, tier, may_train, erased_at IS NOT NULL, language FROM people WHERE id = ?1;

-- name: balance
-- What the ledger says, minus what is held.
SELECT coalesce((SELECT balance FROM wallets WHERE person_id = ?1), 0);

-- name: add_body
-- One sealed body of the journal.
INSERT INTO blobs (id, person_id, sealed) VALUES (?1, ?2, ?3);

-- name: add_blob
-- A message of a graph; the same message of the same person is kept once.
INSERT INTO blobs (id, person_id, sealed, graph, name) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (graph, name, person_id) WHERE name IS NOT NULL DO NOTHING;

-- name: add_tools
-- Tools that calls were given; they are nobody's and not sealed.
INSERT INTO blobs (id, person_id, sealed, graph, name) VALUES (?1, '', ?3, 0, ?2)
ON CONFLICT (graph, name, person_id) WHERE name IS NOT NULL DO NOTHING;

-- name: blob
-- The id of a message of a graph.
SELECT id FROM blobs WHERE graph = ?1 AND name = ?2 AND person_id = ?3;

-- name: last_body
-- The highest number of a body.
SELECT coalesce(max(id), 0) FROM blobs;

-- name: name_body
-- A body that becomes a message of a graph, unless the graph has the same message already.
UPDATE OR IGNORE blobs SET graph = ?2, name = ?3 WHERE id = ?1 AND name IS NULL;

-- name: body
-- One sealed body.
SELECT person_id, sealed FROM blobs WHERE id = ?1;

-- name: consent
-- Whether what a person's conversations hold may be trained on.
UPDATE people SET may_train = ?2, consent_at = ?3 WHERE id = ?1 AND erased_at IS NULL;

-- name: set_language
-- The language in which a person wants to be spoken with.
UPDATE people SET language = ?2 WHERE id = ?1 AND erased_at IS NULL;

-- name: digest_key
-- The wrapped key of every digest in this database.
SELECT value FROM meta WHERE key = 'digest_key';

-- name: set_digest_key
-- Keep the wrapped digest key.
INSERT INTO meta (key, value) VALUES ('digest_key', ?1)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
