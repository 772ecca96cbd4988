-- name: blobs
-- The next bodies; those of tools are nobody's and not sealed.
SELECT id, person_id, sealed FROM blobs WHERE id > ?1 AND person_id <> '' ORDER BY id LIMIT ?2;

-- name: set_blobs
-- The same body, bound to its place.
UPDATE blobs SET sealed = ?2 WHERE id = ?1 AND sealed = ?3;

-- name: events
-- What the next messages said, and their outcomes.
SELECT seq, inbox.id, said.id, said.person_id, said.sealed, told.id, told.person_id, told.sealed
FROM inbox LEFT JOIN blobs AS said ON said.id = inbox.body
    LEFT JOIN blobs AS told ON told.id = inbox.result_body
WHERE seq > ?1 ORDER BY seq LIMIT ?2;

-- name: names
-- The next names that platforms show.
SELECT platform, user_id, person_id, name FROM user_channels
WHERE (platform, user_id) > (?1, ?2) AND name IS NOT NULL ORDER BY platform, user_id LIMIT ?3;

-- name: set_names
-- The same name, bound to its place.
UPDATE user_channels SET name = ?3 WHERE platform = ?1 AND user_id = ?2 AND name = ?4;

-- name: facts
-- The next facts.
SELECT id, person_id, sealed FROM facts WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: set_facts
-- The same fact, bound to its place.
UPDATE facts SET sealed = ?2 WHERE id = ?1 AND sealed = ?3;

-- name: pages
-- The next pages of vectors.
SELECT person_id, model, number, person_id, sealed FROM vector_pages
WHERE (person_id, model, number) > (?1, ?2, ?3) ORDER BY person_id, model, number LIMIT ?4;

-- name: set_pages
-- The same page, bound to its place.
UPDATE vector_pages SET sealed = ?4 WHERE person_id = ?1 AND model = ?2 AND number = ?3 AND sealed = ?5;

-- name: souls
-- The next blocks that conversations began with.
SELECT lane, epoch, person_id, sealed FROM souls WHERE (lane, epoch) > (?1, ?2)
ORDER BY lane, epoch LIMIT ?3;

-- name: set_souls
-- The same blocks, bound to their place.
UPDATE souls SET sealed = ?3 WHERE lane = ?1 AND epoch = ?2 AND sealed = ?4;

-- name: dreams
-- The next dreams.
SELECT person_id, person_id, sealed FROM dreams WHERE person_id > ?1 ORDER BY person_id LIMIT ?2;

-- name: set_dreams
-- The same dream, bound to its place.
UPDATE dreams SET sealed = ?2 WHERE person_id = ?1 AND sealed = ?3;

-- name: jobs
-- The next scheduled jobs.
SELECT id, person_id, sealed FROM cron_jobs WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: set_jobs
-- The same job, bound to its place.
UPDATE cron_jobs SET sealed = ?2 WHERE id = ?1 AND sealed = ?3;

-- name: stories
-- The next notes about deliveries.
SELECT id, person_id, story FROM outbox WHERE id > ?1 AND story IS NOT NULL ORDER BY id LIMIT ?2;

-- name: set_stories
-- The same notes, bound to their place.
UPDATE outbox SET story = ?2 WHERE id = ?1 AND story = ?3;

-- name: chats
-- The next chats of the directory.
SELECT platform, chat_id, owner, sealed FROM directory WHERE (platform, chat_id) > (?1, ?2)
ORDER BY platform, chat_id LIMIT ?3;

-- name: set_chats
-- The same chat, bound to its place.
UPDATE directory SET sealed = ?3 WHERE platform = ?1 AND chat_id = ?2 AND sealed = ?4;

-- name: states
-- The next values that channels remember.
SELECT platform, key, 'channels', sealed FROM channel_state WHERE (platform, key) > (?1, ?2)
ORDER BY platform, key LIMIT ?3;

-- name: set_states
-- The same value, bound to its place.
UPDATE channel_state SET sealed = ?3 WHERE platform = ?1 AND key = ?2 AND sealed = ?4;

-- name: agents
-- The next versions of agents.
SELECT agent_id, number, 'agents', sealed FROM agent_versions WHERE (agent_id, number) > (?1, ?2)
ORDER BY agent_id, number LIMIT ?3;

-- name: set_agents
-- The same version, bound to its place.
UPDATE agent_versions SET sealed = ?3 WHERE agent_id = ?1 AND number = ?2 AND sealed = ?4;

-- name: pushes
-- The next places that are told of tasks.
SELECT task_id, id, person_id, sealed FROM task_pushes WHERE (task_id, id) > (?1, ?2)
ORDER BY task_id, id LIMIT ?3;

-- name: set_pushes
-- The same place, bound to its place.
UPDATE task_pushes SET sealed = ?3 WHERE task_id = ?1 AND id = ?2 AND sealed = ?4;
