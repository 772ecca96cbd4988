-- name: person
-- Who a person is.
SELECT id, CASE
        WHEN erased_at IS NOT NULL THEN 'erased'
        WHEN blocked_at IS NOT NULL THEN 'blocked'
        WHEN id = (SELECT CAST(value AS TEXT) FROM meta WHERE key = 'owner_person') THEN 'owner'
        WHEN EXISTS (
            SELECT 1 FROM user_channels WHERE person_id = id AND activated_at IS NOT NULL
        ) THEN 'active' ELSE 'guest'
    END, tier, created_at, language
FROM people WHERE id = ?1 AND id > ?2 LIMIT ?3;

-- name: consent
-- Whether a person's conversations may be trained on, and since when.
SELECT id, may_train, consent_at FROM people WHERE id = ?1 AND id > ?2 LIMIT ?3;

-- name: channel
-- A person's channels.
SELECT platform || ' ' || user_id AS place, platform, user_id, added_at, activated_at, activated_how,
    was_person, name
FROM user_channels WHERE person_id = ?1 AND platform || ' ' || user_id > ?2 ORDER BY place LIMIT ?3;

-- name: pairing
-- A person's requests to be let in.
SELECT platform || ' ' || user_id AS place, platform, user_id, asked_at, expires_at, state
FROM pairings WHERE person_id = ?1 AND platform || ' ' || user_id > ?2 ORDER BY place LIMIT ?3;

-- name: link_code
-- The codes that a person had to link another channel with, without the codes.
SELECT digest, made_at, expires_at, used_by IS NOT NULL FROM link_codes
WHERE person_id = ?1 AND digest > ?2 ORDER BY digest LIMIT ?3;

-- name: fact
-- What is known of a person.
SELECT id, sealed FROM facts WHERE person_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3;

-- name: dream
-- What the last weekly look at a person added up to.
SELECT person_id, sealed FROM dreams WHERE person_id = ?1 AND person_id > ?2 LIMIT ?3;

-- name: wallet
-- What a person has left.
SELECT person_id, balance,
    (SELECT coalesce(sum(amount), 0) FROM holds WHERE holds.person_id = wallets.person_id),
    is_limited,
    EXISTS (SELECT 1 FROM ledger WHERE message_id = 'start:' || ?1 AND kind = 'grant'),
    code, referred_by, referred
FROM wallets WHERE person_id = ?1 AND person_id > ?2 LIMIT ?3;

-- name: credit
-- Lines of a person's ledger after one.
SELECT id, kind, amount, message_id, at, note FROM ledger
WHERE person_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3;

-- name: hold
-- Credits that are set aside for a person's unfinished messages.
SELECT message_id, amount, at FROM holds
WHERE person_id = ?1 AND message_id > ?2 ORDER BY message_id LIMIT ?3;

-- name: session
-- A person's sessions after one.
SELECT key, platform, chat_id, epoch, used_at, ended_at, end_reason FROM lanes
WHERE person_id = ?1 AND key > ?2 ORDER BY key LIMIT ?3;

-- name: accepted
-- What a person sent and the inbox still has, after one.
SELECT seq, id, platform, account, route, external_id, lane, state, outcome, received_at, done_at, body
FROM inbox WHERE person_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3;

-- name: delivery
-- What was sent to a person and the outbox still has, after one.
SELECT seq, id, message_id, platform, chat_id, state, purpose, created_at, ended_at, body
FROM outbox WHERE person_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3;

-- name: approval
-- What tools asked a person, after one.
SELECT approvals.id, approvals.message_id, tool, requester, chat_type, asked_at, expires_at,
    approvals.state, decided_by, decided_at, question, answer
FROM inbox JOIN approvals ON approvals.message_id = inbox.id
WHERE inbox.person_id = ?1 AND approvals.id > ?2 ORDER BY approvals.id LIMIT ?3;

-- name: interaction
-- What answered a person's messages, and what it took, after one.
SELECT message_id, agent, platform, llm_backend, tools, tokens_in, tokens_out, cost_usd, at
FROM interactions WHERE person_id = ?1 AND message_id > ?2 ORDER BY message_id LIMIT ?3;

-- name: spending
-- What model calls for a person took, by day.
SELECT rowid_of, day, agent, channel, key_id, model, calls, tokens_in, tokens_out, cost_usd FROM (
    SELECT day || ' ' || agent || ' ' || channel || ' ' || key_id || ' ' || model AS rowid_of, *
    FROM spend WHERE person_id = ?1
) WHERE rowid_of > ?2 ORDER BY rowid_of LIMIT ?3;

-- name: key
-- A person's keys for /v1, without their secrets.
SELECT id, label, user_id, hint, created_at, models, budget_usd, budget_tokens, expires_at,
    revoked_at, read_history
FROM caller_keys WHERE person_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3;

-- name: response
-- Stored responses of a person, after one.
SELECT stored_responses.id, previous, stored_responses.at, items, answer
FROM response_chains JOIN stored_responses ON stored_responses.root = response_chains.root
WHERE person_id = ?1 AND stored_responses.id > ?2 ORDER BY stored_responses.id LIMIT ?3;

-- name: job
-- A person's scheduled jobs, after one.
SELECT id, created_at, next_at, paused_at, last_at, runs, sealed FROM cron_jobs
WHERE person_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3;

-- name: chat
-- What a person's own chats are called.
SELECT platform || ' ' || chat_id AS place, platform, chat_id, seen_at, sealed FROM directory
WHERE owner = ?1 AND place > ?2 ORDER BY place LIMIT ?3;

-- name: overheard
-- What a person said in groups without meaning the bot, of the last day.
SELECT id, chat, thread, message_id, at, body FROM overheard
WHERE person_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3;
