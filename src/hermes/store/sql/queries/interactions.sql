-- name: page
-- The provenance of turns before a message, the newest first: ids sort by time.
SELECT message_id, at, person_id, agent, platform, llm_backend, llm_cache_hit, soul_load_ms,
    semantic_recall_used, tools, tool_exec_ms, tokens_in, tokens_out, cost_usd, unpriced
FROM interactions WHERE message_id < ?1 ORDER BY message_id DESC LIMIT ?2;
