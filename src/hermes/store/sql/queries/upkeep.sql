-- name: old_messages
-- Finished messages whose time is over and of whose replies none is on its way or a dead letter; nothing behind the first young one is looked at.
SELECT id, body, reply_body, result_body FROM inbox
WHERE state = 'done' AND done_at < ?1
    AND seq <= coalesce((SELECT seq FROM inbox WHERE received_at >= ?1 ORDER BY seq LIMIT 1), 1e18)
    AND NOT EXISTS (
        SELECT 1 FROM outbox
        WHERE outbox.message_id = inbox.id AND outbox.state <> 'sent'
            AND NOT (outbox.state = 'dead' AND coalesce(outbox.failure, '') = 'dropped')
    )
ORDER BY seq LIMIT ?2;

-- name: old_sends
-- What operators sent on their own, whose time is over and which is no dead letter; nothing behind the first young one is looked at.
SELECT id, body FROM outbox
WHERE message_id = id AND (state = 'sent' OR (state = 'dead' AND coalesce(failure, '') = 'dropped'))
    AND coalesce(ended_at, created_at) < ?1
    AND seq <= coalesce((SELECT seq FROM outbox WHERE created_at >= ?1 ORDER BY seq LIMIT 1), 1e18)
ORDER BY seq LIMIT ?2;

-- name: has_old_calls
-- Whether there is a line of a call whose time is over.
SELECT 1 FROM events WHERE kind = 'call' AND at < ?1 LIMIT 1;

-- name: drop_calls
-- Forget lines of calls whose time is over, the oldest first.
DELETE FROM events WHERE id IN (
    SELECT id FROM events WHERE kind = 'call' AND at < ?1 ORDER BY at LIMIT ?2
);

-- name: drop_message
-- Forget a message.
DELETE FROM inbox WHERE id = ?1 AND state = 'done';

-- name: drop_pushes
-- Forget where to notify of a message.
DELETE FROM task_pushes WHERE task_id = ?1;

-- name: drop_steps
-- Forget the steps of a message.
DELETE FROM steps WHERE message_id = ?1;

-- name: step_bodies
-- The bodies that only steps refer to.
SELECT body FROM steps WHERE message_id = ?1 AND body IS NOT NULL;

-- name: outbox_bodies
-- The bodies that deliveries refer to.
SELECT body FROM outbox WHERE message_id = ?1 AND body IS NOT NULL;

-- name: question_bodies
-- The bodies that settled questions refer to.
SELECT question FROM approvals
WHERE message_id = ?1 AND state <> 'waiting' AND question IS NOT NULL
UNION ALL
SELECT answer FROM approvals
WHERE message_id = ?1 AND state <> 'waiting' AND answer IS NOT NULL;

-- name: offer_bodies
-- The bodies that the answers shown as buttons refer to.
SELECT body FROM offers WHERE message_id = ?1;

-- name: drop_offers
-- Forget the answers that were shown as buttons.
DELETE FROM offers WHERE message_id = ?1;

-- name: drop_events
-- Forget the timeline of a message.
DELETE FROM events WHERE message_id = ?1;

-- name: drop_outbox_more
-- Forget the further messages of deliveries that have ended.
DELETE FROM outbox_more WHERE delivery IN (
    SELECT id FROM outbox WHERE message_id = ?1 AND state IN ('sent', 'dead') AND more > 0
);

-- name: drop_outbox_parts
-- Forget the ids of further messages of deliveries that have ended.
DELETE FROM outbox_parts WHERE delivery IN (
    SELECT id FROM outbox WHERE message_id = ?1 AND state IN ('sent', 'dead')
);

-- name: drop_outbox
-- Forget deliveries of a message that have ended.
DELETE FROM outbox WHERE message_id = ?1 AND state IN ('sent', 'dead');

-- name: drop_approvals
-- Forget the questions that a message asked.
DELETE FROM approvals WHERE message_id = ?1 AND state <> 'waiting';

-- name: drop_body
-- Forget a body that is no message of a graph.
DELETE FROM blobs WHERE id = ?1 AND name IS NULL;

-- name: counts
-- Unfinished messages by state.
SELECT state, count(*) FROM inbox WHERE state <> 'done' GROUP BY state;

-- name: delivery_counts
-- Deliveries by state.
SELECT state, count(*) FROM outbox GROUP BY state;

-- name: ledger
-- The ledger lines and the open hold of a message.
SELECT kind, amount, at FROM ledger WHERE message_id = ?1
UNION ALL
SELECT 'hold', amount, at FROM holds WHERE message_id = ?1;

-- name: interaction
-- The provenance of a turn.
SELECT agent, platform, llm_backend, llm_cache_hit, soul_load_ms, semantic_recall_used, tools,
    tool_exec_ms, tokens_in, tokens_out, cost_usd, unpriced, platform_tokens, platform_cost_usd, at
FROM interactions WHERE message_id = ?1;
