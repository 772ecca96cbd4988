-- The whole database as it is today; the migrations must build exactly this.

-- Facts about this database itself.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

-- One row per person, over all their channels.
CREATE TABLE people (
    id TEXT PRIMARY KEY,
    created_at REAL NOT NULL,
    tier TEXT NOT NULL DEFAULT 'free',
    erased_at REAL,
    may_train INTEGER NOT NULL DEFAULT 0,
    consent_at REAL,
    blocked_at REAL,
    language TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX people_blocked ON people (id) WHERE blocked_at IS NOT NULL;
CREATE INDEX people_erased ON people (id) WHERE erased_at IS NOT NULL;

-- The data key of each person, wrapped by the store's key; deleting it erases the person.
CREATE TABLE person_keys (
    person_id TEXT PRIMARY KEY,
    wrapped BLOB NOT NULL
) WITHOUT ROWID;

-- Which person stands behind a platform's user id, whether somebody let them in, and whom the id
-- belonged to before it was linked. The name is what the platform shows: sealed, and no identity.
CREATE TABLE user_channels (
    platform TEXT NOT NULL,
    user_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    added_at REAL NOT NULL DEFAULT 0,
    activated_at REAL,
    activated_how TEXT,
    was_person TEXT,
    name BLOB,
    name_digest BLOB,
    PRIMARY KEY (platform, user_id)
) WITHOUT ROWID;
CREATE INDEX user_channels_person ON user_channels (person_id);
CREATE INDEX user_channels_active ON user_channels (person_id) WHERE activated_at IS NOT NULL;
CREATE INDEX user_channels_was ON user_channels (was_person) WHERE was_person IS NOT NULL;

-- The last request of each stranger to be let in; the code is here as a keyed hash only.
CREATE TABLE pairings (
    platform TEXT NOT NULL,
    user_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    digest BLOB NOT NULL,
    asked_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (platform, user_id)
) WITHOUT ROWID;
CREATE INDEX pairings_person ON pairings (person_id);

-- One-time codes with which people link another channel to themselves, as keyed hashes.
CREATE TABLE link_codes (
    digest BLOB PRIMARY KEY,
    person_id TEXT NOT NULL,
    made_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    lets_in INTEGER NOT NULL,
    used_by TEXT
) WITHOUT ROWID;
CREATE INDEX link_codes_person ON link_codes (person_id);
CREATE INDEX link_codes_expiry ON link_codes (expires_at);

-- Wrong codes of late: of a platform's approvals, or of one sender who links.
CREATE TABLE wrong_codes (
    kind TEXT NOT NULL,
    platform TEXT NOT NULL,
    user_id TEXT NOT NULL,
    failures INTEGER NOT NULL,
    last_at REAL NOT NULL,
    locked_until REAL NOT NULL,
    PRIMARY KEY (kind, platform, user_id)
) WITHOUT ROWID;

-- Everything personal, sealed with its person's data key. Blobs with a name are messages of a graph
-- and stay; the others are the journal's and go with it. Graph 0 holds tools, which are nobody's.
CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    person_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    graph INTEGER,
    name BLOB
);
CREATE UNIQUE INDEX blobs_name ON blobs (graph, name, person_id) WHERE name IS NOT NULL;

-- Message graphs: one per session and `/new`; the name is the session's, `#` and its epoch.
CREATE TABLE graphs (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    links INTEGER NOT NULL DEFAULT 0,
    feedback INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX graphs_session ON graphs (rtrim(name, '0123456789'));

-- Where each branch of a graph stands.
CREATE TABLE refs (
    graph INTEGER NOT NULL,
    branch TEXT NOT NULL,
    root BLOB NOT NULL,
    length INTEGER NOT NULL,
    version INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (graph, branch)
) WITHOUT ROWID;

-- The log of each branch: which edit led to which version.
CREATE TABLE moves (
    graph INTEGER NOT NULL,
    branch TEXT NOT NULL,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (graph, branch, number)
) WITHOUT ROWID;

-- The nodes of the trees over blobs; they hold names and no content.
CREATE TABLE chunks (
    graph INTEGER NOT NULL,
    name BLOB NOT NULL,
    data BLOB NOT NULL
);
CREATE UNIQUE INDEX chunks_name ON chunks (graph, name);

-- Model calls: what each saw and wrote, by name; tokens are content, and sealed.
CREATE TABLE calls (
    graph INTEGER NOT NULL,
    branch TEXT NOT NULL,
    number INTEGER NOT NULL,
    id TEXT NOT NULL,
    data BLOB NOT NULL,
    person_id TEXT NOT NULL,
    tokens BLOB,
    PRIMARY KEY (graph, branch, number)
) WITHOUT ROWID;

-- Which graph answered which tool call of a call.
CREATE TABLE links (
    graph INTEGER NOT NULL,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (graph, number)
) WITHOUT ROWID;

-- Thumbs for answers of calls; the reason is content, and sealed.
CREATE TABLE feedback (
    graph INTEGER NOT NULL,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    person_id TEXT NOT NULL,
    reason BLOB,
    PRIMARY KEY (graph, number)
) WITHOUT ROWID;

-- Accepted messages; one row each, from the accept to its one outcome.
CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    account TEXT NOT NULL,
    platform TEXT NOT NULL,
    route TEXT NOT NULL,
    external_id TEXT NOT NULL,
    digest BLOB NOT NULL,
    lane TEXT NOT NULL,
    control INTEGER NOT NULL,
    busy TEXT NOT NULL,
    person_id TEXT NOT NULL,
    body INTEGER NOT NULL,
    state TEXT NOT NULL,
    outcome TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    received_at REAL NOT NULL,
    started_at REAL,
    done_at REAL,
    merged_into TEXT,
    interrupted_by TEXT,
    reply_body INTEGER,
    result_body INTEGER,
    epoch INTEGER NOT NULL DEFAULT 0,
    came_by TEXT NOT NULL DEFAULT '',
    content_key TEXT,
    handle_used INTEGER,
    UNIQUE (account, platform, route, external_id),
    CHECK ((state = 'done') = (outcome IS NOT NULL))
);
CREATE INDEX inbox_open ON inbox (lane, seq) WHERE state <> 'done';
CREATE INDEX inbox_lane ON inbox (lane, seq);
CREATE UNIQUE INDEX inbox_content ON inbox (account, platform, route, content_key)
    WHERE content_key IS NOT NULL;
CREATE INDEX inbox_merging ON inbox (merged_into) WHERE state = 'merging';
CREATE INDEX inbox_person ON inbox (person_id, seq) WHERE control = 0;
CREATE INDEX inbox_platform ON inbox (platform, seq) WHERE control = 0;
CREATE INDEX inbox_outcome ON inbox (outcome, seq) WHERE outcome <> 'answered' AND control = 0;

-- One row per session: who holds it, and how far its transcript goes.
CREATE TABLE lanes (
    key TEXT PRIMARY KEY,
    person_id TEXT NOT NULL,
    platform TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    fence INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    waiting_on TEXT,
    epoch INTEGER NOT NULL DEFAULT 0,
    head INTEGER NOT NULL DEFAULT 0,
    used_at REAL NOT NULL,
    ended_at REAL,
    end_reason TEXT,
    choices TEXT,
    turns INTEGER NOT NULL DEFAULT 0,
    tokens_in INTEGER NOT NULL DEFAULT 0,
    tokens_out INTEGER NOT NULL DEFAULT 0,
    cached_in INTEGER NOT NULL DEFAULT 0,
    cache_written INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL NOT NULL DEFAULT 0,
    unpriced INTEGER NOT NULL DEFAULT 0,
    restarts INTEGER NOT NULL DEFAULT 0,
    temporary INTEGER NOT NULL DEFAULT 0,
    adapter TEXT
) WITHOUT ROWID;
CREATE INDEX lanes_used ON lanes (platform, used_at);
CREATE INDEX lanes_person ON lanes (person_id);

-- Sessions of REST and of the web chat from the time when everybody who used the name of a conversation was in it: the
-- senders who may have written all that is in one, '' where several people wrote. It never grows.
CREATE TABLE lane_writers (
    lane TEXT NOT NULL,
    user_id TEXT NOT NULL,
    PRIMARY KEY (lane, user_id)
) WITHOUT ROWID;

-- What a turn did and what it is doing, so that it can go on after a crash.
CREATE TABLE steps (
    message_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    name TEXT NOT NULL,
    arguments_hash BLOB NOT NULL,
    person_id TEXT NOT NULL,
    body INTEGER,
    tokens_in INTEGER NOT NULL DEFAULT 0,
    tokens_out INTEGER NOT NULL DEFAULT 0,
    cached_in INTEGER NOT NULL DEFAULT 0,
    reasoning_out INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL NOT NULL DEFAULT 0,
    payer TEXT NOT NULL,
    started_at REAL NOT NULL,
    ended_at REAL,
    unpriced INTEGER NOT NULL DEFAULT 0,
    facts TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (message_id, ordinal)
) WITHOUT ROWID;

-- Credits set aside for turns that have not ended.
CREATE TABLE holds (
    message_id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL,
    amount INTEGER NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX holds_person ON holds (person_id);

-- Grants, captures and refunds; a balance is their sum minus open holds. A grant has an id of its own
-- in the place of a message's; the note says by whom and why.
CREATE TABLE ledger (
    id INTEGER PRIMARY KEY,
    person_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    amount INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    at REAL NOT NULL,
    note INTEGER,
    UNIQUE (message_id, kind)
);
CREATE INDEX ledger_person ON ledger (person_id);

-- What each person has left: the ledger's sum minus open holds, written in the same unit as either.
-- Limited ones have opened; the others may run into the red, which an opening forgives.
CREATE TABLE wallets (
    person_id TEXT PRIMARY KEY,
    balance INTEGER NOT NULL,
    is_limited INTEGER NOT NULL DEFAULT 0,
    code TEXT,
    referred_by TEXT,
    referred INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE UNIQUE INDEX wallets_code ON wallets (code);

-- The provenance of every turn.
CREATE TABLE interactions (
    message_id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    platform TEXT NOT NULL,
    llm_backend TEXT,
    llm_cache_hit INTEGER NOT NULL,
    soul_load_ms REAL NOT NULL,
    semantic_recall_used INTEGER NOT NULL,
    tools TEXT NOT NULL,
    tool_exec_ms REAL NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    platform_tokens INTEGER NOT NULL,
    platform_cost_usd REAL NOT NULL,
    at REAL NOT NULL,
    unpriced INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX interactions_agent ON interactions (agent, message_id);
CREATE INDEX interactions_model ON interactions (llm_backend, message_id);
CREATE INDEX interactions_cent ON interactions (message_id) WHERE cost_usd >= 0.01;
CREATE INDEX interactions_dime ON interactions (message_id) WHERE cost_usd >= 0.1;
CREATE INDEX interactions_dollar ON interactions (message_id) WHERE cost_usd >= 1.0;

-- Turns that ended in a span of time, by how they ended and how long the answer took (-1: no model
-- answered), for charts: spans of five minutes, which become an hour, and then a day.
CREATE TABLE turn_counts (
    span_s INTEGER NOT NULL,
    at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    slowness INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    unpriced INTEGER NOT NULL,
    PRIMARY KEY (span_s, at, outcome, slowness)
) WITHOUT ROWID;

-- Replies on their way out.
CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    message_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    platform TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    target TEXT NOT NULL,
    body INTEGER,
    state TEXT NOT NULL,
    purpose TEXT NOT NULL,
    platform_message_id TEXT,
    chunk INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_at REAL NOT NULL,
    created_at REAL NOT NULL,
    sending_at REAL,
    ended_at REAL,
    failure TEXT,
    held INTEGER NOT NULL DEFAULT 0,
    fresh INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    story BLOB,
    owner TEXT,
    more INTEGER NOT NULL DEFAULT 0,
    stopped_by TEXT,
    most INTEGER,
    handle_key TEXT,
    handle_number INTEGER,
    last INTEGER NOT NULL DEFAULT 0,
    vanish_s REAL NOT NULL DEFAULT 0
);
CREATE INDEX outbox_message ON outbox (message_id);
CREATE INDEX outbox_open ON outbox (platform, chat_id, seq) WHERE state NOT IN ('sent', 'dead');
CREATE INDEX outbox_unsettled ON outbox (platform, seq) WHERE state = 'unknown' AND held = 0;
CREATE INDEX outbox_dead ON outbox (ended_at) WHERE state = 'dead';
CREATE INDEX outbox_vanishing ON outbox (platform, ended_at) WHERE vanish_s > 0;
CREATE INDEX outbox_sends ON outbox (person_id) WHERE message_id = id;
CREATE INDEX outbox_posted ON outbox (platform_message_id) WHERE platform_message_id IS NOT NULL;

-- The further messages of a delivery, one row each; the delivery counts them. One without an id may
-- have been posted.
CREATE TABLE outbox_more (
    delivery TEXT NOT NULL,
    number INTEGER NOT NULL,
    platform_message_id TEXT,
    PRIMARY KEY (delivery, number)
) WITHOUT ROWID;

-- The platform's ids of the further messages of a delivery that has more than one.
CREATE TABLE outbox_parts (
    platform_message_id TEXT NOT NULL,
    delivery TEXT NOT NULL,
    PRIMARY KEY (platform_message_id, delivery)
) WITHOUT ROWID;
CREATE INDEX outbox_parts_delivery ON outbox_parts (delivery);

-- Questions to a person before a tool may run.
CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    message_id TEXT NOT NULL,
    lane TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    tool TEXT NOT NULL,
    arguments_hash BLOB NOT NULL,
    requester TEXT NOT NULL,
    chat_type TEXT NOT NULL,
    asked_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    state TEXT NOT NULL,
    decided_by TEXT,
    decided_at REAL,
    owner TEXT,
    answer INTEGER,
    question INTEGER
) WITHOUT ROWID;
CREATE INDEX approvals_waiting ON approvals (lane) WHERE state = 'waiting';
CREATE INDEX approvals_message ON approvals (message_id);

-- The answers that are shown as buttons under a message that asks: who may press them, what each of them
-- says (sealed), until when, and what was pressed. `shown` is 1 once the message shows how it ended.
CREATE TABLE offers (
    id TEXT PRIMARY KEY,
    delivery TEXT NOT NULL,
    message_id TEXT NOT NULL,
    platform TEXT NOT NULL,
    lane TEXT NOT NULL,
    who TEXT NOT NULL,
    subject TEXT,
    body INTEGER NOT NULL,
    expires_at REAL NOT NULL,
    chosen INTEGER,
    chosen_by TEXT,
    shown INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX offers_message ON offers (message_id);
CREATE INDEX offers_open ON offers (platform) WHERE shown = 0;

-- Reactions to messages of the bot that came before it was known that these had been posted; the body is
-- the event, sealed with its person's key. Bounded, and forgotten after a day.
CREATE TABLE early_reactions (
    id TEXT PRIMARY KEY,
    platform TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    platform_message_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    body INTEGER NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX early_reactions_at ON early_reactions (at);

-- The timeline of every message, and one line for every call that is none.
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL
);
CREATE INDEX events_message ON events (message_id);
CREATE INDEX events_calls ON events (at) WHERE kind = 'call';

-- What was not accepted, bounded.
CREATE TABLE refusals (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    at REAL NOT NULL,
    platform TEXT NOT NULL,
    code TEXT NOT NULL,
    text TEXT NOT NULL,
    external_id TEXT,
    message_id TEXT
);
CREATE INDEX refusals_external ON refusals (external_id);

-- Hashes of tokens, browser sessions and one-time codes; the parent is the token or the session that
-- made one. Codes and sessions end with it, tokens do not.
CREATE TABLE credentials (
    kind TEXT NOT NULL,
    digest BLOB NOT NULL,
    label TEXT NOT NULL,
    created_at REAL NOT NULL,
    expires_at REAL,
    used_at REAL,
    role TEXT NOT NULL DEFAULT 'owner',
    parent BLOB,
    seen_at REAL,
    may_delegate INTEGER NOT NULL DEFAULT 0,
    user_id TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (kind, digest)
) WITHOUT ROWID;
CREATE INDEX credentials_parent ON credentials (parent) WHERE parent IS NOT NULL;
CREATE INDEX credentials_user ON credentials (user_id) WHERE user_id <> '';

-- What model calls took, summed as finely as anybody asks; never forgotten.
CREATE TABLE spend (
    day TEXT NOT NULL,
    person_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    channel TEXT NOT NULL,
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    cached_calls INTEGER NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    cached_in INTEGER NOT NULL,
    reasoning_out INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    unpriced_tokens INTEGER NOT NULL,
    assumed_usd REAL NOT NULL,
    PRIMARY KEY (day, person_id, agent, channel, key_id, model)
) WITHOUT ROWID;
CREATE INDEX spend_key ON spend (key_id, day) WHERE key_id <> '';

-- The same sums over everybody, so that what an agent or the platform took is a few rows.
CREATE TABLE spend_days (
    day TEXT NOT NULL,
    agent TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    usd REAL NOT NULL,
    PRIMARY KEY (day, agent)
) WITHOUT ROWID;

-- Keys of callers, by the hash of their secret.
CREATE TABLE caller_keys (
    id TEXT PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    label TEXT NOT NULL,
    user_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    hint TEXT NOT NULL,
    created_at REAL NOT NULL,
    models TEXT NOT NULL,
    budget_usd REAL,
    budget_period TEXT NOT NULL,
    budget_tokens INTEGER,
    requests_per_minute INTEGER,
    max_output_tokens INTEGER,
    expires_at REAL,
    revoked_at REAL,
    store_responses INTEGER NOT NULL DEFAULT 0,
    may_delegate INTEGER NOT NULL DEFAULT 0,
    read_history INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Answers that may be given again to the person they were given to, bounded.
CREATE TABLE kept_answers (
    digest BLOB NOT NULL,
    person_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    call_id TEXT NOT NULL,
    body INTEGER NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    cached_in INTEGER NOT NULL,
    reasoning_out INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    unpriced INTEGER NOT NULL,
    stop_reason TEXT NOT NULL,
    at REAL NOT NULL,
    expires_at REAL NOT NULL,
    PRIMARY KEY (digest, person_id)
) WITHOUT ROWID;
CREATE INDEX kept_answers_age ON kept_answers (at);
CREATE INDEX kept_answers_expiry ON kept_answers (expires_at);

-- Conversations of stored responses: each key has its own, and all of one expires together.
CREATE TABLE response_chains (
    root TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    responses INTEGER NOT NULL,
    size INTEGER NOT NULL,
    expires_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX response_chains_key ON response_chains (key_id, expires_at, responses, size);
CREATE INDEX response_chains_expiry ON response_chains (expires_at);
CREATE INDEX response_chains_person ON response_chains (person_id);

-- Responses of `/v1/responses` that later calls continue: what one call added to its conversation,
-- and the rest of its answer; the bodies of both are sealed.
CREATE TABLE stored_responses (
    id TEXT PRIMARY KEY,
    root TEXT NOT NULL,
    previous TEXT,
    depth INTEGER NOT NULL,
    size INTEGER NOT NULL,
    context_size INTEGER NOT NULL,
    items INTEGER NOT NULL,
    answer INTEGER NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX stored_responses_root ON stored_responses (root, at);

-- What is known of people: key, value and source are sealed.
CREATE TABLE facts (
    id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL,
    at REAL NOT NULL,
    sealed BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX facts_person ON facts (person_id, at);

-- Where facts stand among meanings, some hundred to a page; a vector tells what it was made of, and
-- is sealed too. One model made all pages of a person.
CREATE TABLE vector_pages (
    person_id TEXT NOT NULL,
    model TEXT NOT NULL,
    number INTEGER NOT NULL,
    count INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (person_id, model, number)
);

-- Facts that have no vector yet.
CREATE TABLE vectors_wanted (
    person_id TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    PRIMARY KEY (person_id, fact_id)
) WITHOUT ROWID;

-- The system blocks with which the current conversation of each session began.
CREATE TABLE souls (
    lane TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL,
    person_id TEXT NOT NULL,
    shared_from INTEGER,
    sealed BLOB NOT NULL
) WITHOUT ROWID;

-- Work after the reply. A row without a time waits for the session to go on.
CREATE TABLE jobs (
    key TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    lane TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    person_id TEXT NOT NULL,
    due_at REAL,
    latest_at REAL NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    touched INTEGER NOT NULL DEFAULT 1,
    covered INTEGER NOT NULL DEFAULT 0,
    failure TEXT
) WITHOUT ROWID;
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_person ON jobs (person_id);
CREATE INDEX jobs_dreams ON jobs (latest_at) WHERE kind = 'dream';

-- What the last weekly look at a person added up to; sealed.
CREATE TABLE dreams (
    person_id TEXT PRIMARY KEY,
    at REAL NOT NULL,
    sealed BLOB NOT NULL
) WITHOUT ROWID;

-- Jobs that time starts; what they do and when is sealed. Without a next time one has ended.
CREATE TABLE cron_jobs (
    id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    created_at REAL NOT NULL,
    next_at REAL,
    paused_at REAL,
    reason TEXT,
    last_at REAL,
    last_message TEXT,
    runs INTEGER NOT NULL DEFAULT 0,
    missed INTEGER NOT NULL DEFAULT 0,
    missed_at REAL
) WITHOUT ROWID;
CREATE INDEX cron_jobs_due ON cron_jobs (next_at) WHERE next_at IS NOT NULL AND paused_at IS NULL;
CREATE INDEX cron_jobs_person ON cron_jobs (person_id, created_at);

-- Agents that were made while the gateway runs; those of config.yaml are not here.
CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    version INTEGER NOT NULL,
    author TEXT NOT NULL,
    created_at REAL NOT NULL,
    changed_at REAL NOT NULL,
    delete_at REAL
) WITHOUT ROWID;
-- What the gateway has to look after by itself: few rows, however many agents there are.
CREATE INDEX agents_due ON agents (state, delete_at) WHERE state IN ('provisioning', 'deleting');
-- Every change of an agent; what it says is sealed with a key of the agents.
CREATE TABLE agent_versions (
    agent_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    author TEXT NOT NULL,
    at REAL NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (agent_id, number)
) WITHOUT ROWID;

-- Orders of operators, each begun before it is carried out; ids only, bounded.
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    at REAL NOT NULL,
    actor TEXT NOT NULL,
    role TEXT NOT NULL,
    action TEXT NOT NULL,
    targets TEXT NOT NULL,
    state TEXT NOT NULL,
    code TEXT NOT NULL,
    ended_at REAL
);
CREATE INDEX audit_at ON audit (at);

-- Platforms on which nothing is accepted and nothing sent.
CREATE TABLE paused_channels (
    platform TEXT PRIMARY KEY,
    at REAL NOT NULL
) WITHOUT ROWID;

-- Chats by name. What a chat is called is sealed: with the key of the person whose direct chat it
-- is, or with one that is the directory's own.
CREATE TABLE directory (
    platform TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    sealed BLOB NOT NULL,
    is_listed INTEGER NOT NULL,
    seen_at REAL NOT NULL,
    PRIMARY KEY (platform, chat_id)
) WITHOUT ROWID;
CREATE INDEX directory_owner ON directory (owner);

-- What a channel must remember over a restart, sealed with a key of its own; the fence is that of the
-- claim on the channel under which a value was written.
CREATE TABLE channel_state (
    platform TEXT NOT NULL,
    key TEXT NOT NULL,
    sealed BLOB NOT NULL,
    fence INTEGER,
    at REAL NOT NULL,
    PRIMARY KEY (platform, key)
) WITHOUT ROWID;

-- What was said in a group without being meant for the bot, until it is: the body is the inbox row's,
-- sealed with the writer's key. Bounded per chat, and forgotten after a day.
CREATE TABLE overheard (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chat TEXT NOT NULL,
    thread TEXT NOT NULL,
    message_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    body INTEGER NOT NULL,
    chars INTEGER NOT NULL,
    at REAL NOT NULL
);
CREATE INDEX overheard_chat ON overheard (chat, id);
CREATE INDEX overheard_person ON overheard (person_id);
CREATE INDEX overheard_at ON overheard (at);

-- How many turns in a row bots have had in a chat since a person wrote there.
CREATE TABLE bot_turns (
    chat TEXT PRIMARY KEY,
    turns INTEGER NOT NULL
) WITHOUT ROWID;

-- Processes that work on this store. One that is silent for too long is buried: its lanes and claims
-- are freed, and it can write nothing any more.
CREATE TABLE nodes (
    id TEXT PRIMARY KEY,
    started_at REAL NOT NULL,
    expires REAL NOT NULL,
    buried_at REAL
) WITHOUT ROWID;

-- What one node at a time does: a channel's poller, the leader's work.
CREATE TABLE claims (
    name TEXT PRIMARY KEY,
    node TEXT,
    fence INTEGER NOT NULL
) WITHOUT ROWID;

-- Rare changes that other nodes have to hear of, so that their caches follow.
CREATE TABLE feed (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL
);

-- API keys and passwords that operators store: of the gateway (agent '') or of one agent. Each agent's
-- values are sealed with a key of their own. The hash is empty for a value that hides the global one.
CREATE TABLE secrets (
    agent TEXT NOT NULL,
    name TEXT NOT NULL,
    sealed BLOB NOT NULL,
    hash TEXT NOT NULL,
    set_at REAL NOT NULL,
    set_by TEXT NOT NULL,
    PRIMARY KEY (agent, name)
) WITHOUT ROWID;

-- Where callers over A2A want to be notified of their tasks; sealed for their person. What was told last
-- is the outcome or the state of the message; it is due again when that differs.
CREATE TABLE task_pushes (
    task_id TEXT NOT NULL,
    id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    told TEXT NOT NULL DEFAULT '',
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at REAL NOT NULL,
    ended_at REAL,
    PRIMARY KEY (task_id, id)
) WITHOUT ROWID;
CREATE INDEX task_pushes_open ON task_pushes (person_id, due_at) WHERE ended_at IS NULL;

-- Answers that operators had made again: of which message, how it ended and what it took. The report is
-- sealed for the person whose message it is; what was said is a branch of the conversation's graph.
CREATE TABLE replays (
    id TEXT PRIMARY KEY,
    message_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    graph INTEGER NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    label TEXT NOT NULL,
    has_prompt INTEGER NOT NULL,
    is_live INTEGER NOT NULL,
    node TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    started_at REAL NOT NULL,
    ended_at REAL,
    calls INTEGER NOT NULL DEFAULT 0,
    tools_started INTEGER NOT NULL DEFAULT 0,
    tokens_in INTEGER NOT NULL DEFAULT 0,
    tokens_out INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL NOT NULL DEFAULT 0,
    unpriced INTEGER NOT NULL DEFAULT 0,
    change REAL,
    sealed BLOB
) WITHOUT ROWID;
CREATE INDEX replays_message ON replays (message_id);
CREATE INDEX replays_label ON replays (label) WHERE label <> '';
CREATE INDEX replays_graph ON replays (graph);
