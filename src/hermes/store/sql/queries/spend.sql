-- name: add
-- One call, added to its row of the ledger.
INSERT INTO spend (day, person_id, agent, channel, key_id, model, calls, cached_calls, tokens_in,
    tokens_out, cached_in, reasoning_out, cost_usd, unpriced_tokens, assumed_usd)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
ON CONFLICT (day, person_id, agent, channel, key_id, model) DO UPDATE SET
    calls = spend.calls + 1,
    cached_calls = spend.cached_calls + excluded.cached_calls,
    tokens_in = spend.tokens_in + excluded.tokens_in,
    tokens_out = spend.tokens_out + excluded.tokens_out,
    cached_in = spend.cached_in + excluded.cached_in,
    reasoning_out = spend.reasoning_out + excluded.reasoning_out,
    cost_usd = spend.cost_usd + excluded.cost_usd,
    unpriced_tokens = spend.unpriced_tokens + excluded.unpriced_tokens,
    assumed_usd = spend.assumed_usd + excluded.assumed_usd;

-- name: add_to_day
-- One call, added to what everybody took of an agent that day.
INSERT INTO spend_days (day, agent, tokens, usd) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (day, agent) DO UPDATE SET
    tokens = spend_days.tokens + excluded.tokens,
    usd = spend_days.usd + excluded.usd;

-- name: person_total
-- What a person took: a look into each day on which anybody took something.
SELECT coalesce(sum(tokens_in + tokens_out), 0.0), coalesce(sum(cost_usd + assumed_usd), 0.0) FROM spend
WHERE day IN (SELECT day FROM spend_days WHERE day BETWEEN ?1 AND ?2) AND person_id = ?3;

-- name: key_total
-- What a caller's key took.
SELECT coalesce(sum(tokens_in + tokens_out), 0.0), coalesce(sum(cost_usd + assumed_usd), 0.0) FROM spend
WHERE key_id = ?3 AND key_id <> '' AND day BETWEEN ?1 AND ?2;

-- name: agent_total
-- What an agent took.
SELECT coalesce(sum(tokens), 0.0), coalesce(sum(usd), 0.0) FROM spend_days WHERE day BETWEEN ?1 AND ?2 AND agent = ?3;

-- name: platform_total
-- What everybody took.
SELECT coalesce(sum(tokens), 0.0), coalesce(sum(usd), 0.0) FROM spend_days WHERE day BETWEEN ?1 AND ?2;

-- name: report
-- What was spent on those days, by one of the ledger's names.
SELECT
    CASE ?1
        WHEN 'person' THEN person_id
        WHEN 'agent' THEN agent
        WHEN 'channel' THEN channel
        WHEN 'key' THEN key_id
        WHEN 'model' THEN model
        ELSE day
    END AS name,
    sum(calls), sum(cached_calls), sum(tokens_in), sum(tokens_out), sum(cached_in),
    sum(reasoning_out), sum(cost_usd), sum(unpriced_tokens), sum(assumed_usd)
FROM spend WHERE day BETWEEN ?2 AND ?3
GROUP BY name ORDER BY sum(cost_usd + assumed_usd) DESC, name;

-- name: kill_switch
-- How the kill switch stands.
SELECT value FROM meta WHERE key = 'kill_switch';

-- name: set_kill_switch
-- Turn the kill switch on or off.
INSERT INTO meta (key, value) VALUES ('kill_switch', ?1)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
