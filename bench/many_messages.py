"""A store with a million messages: rows of the real schema beside those of some real turns.

They are written in bulk, without a gateway: what was said in them is that of no message, but lists and
timelines of the real turns go through the same indexes as among as many real ones.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import apsw

from hermes.app.store_files import DATABASE

# Of so many made-up messages: failed, by the other model and agent, over a cent and a dollar.
SHARES: Final[Mapping[str, int]] = {
    "failed": 50,
    "small model": 5,
    "second agent": 10,
    "a cent": 20,
    "a dollar": 1_000,
    "telegram": 3,
}
PEOPLE = 5_000
SESSIONS = 100_000
_ID = "'m_0' || substr('0000000000' || (seq - ?1 + 1000000000), -10) || '00000000000000'"
_PERSON = f"'p_' || (seq * 7919 % {PEOPLE})"
# `?1` is the number of the first made-up message, `?2` that of the last.
_NUMBERS = "WITH RECURSIVE n(seq) AS (SELECT ?1 UNION ALL SELECT seq + 1 FROM n WHERE seq < ?2) "
_ADD_PEOPLE = "INSERT INTO people (id, created_at) SELECT 'p_' || (seq - 1), ?3 FROM n"
_ADD_SESSIONS = (
    "INSERT INTO lanes (key, person_id, platform, chat_id, head, turns, used_at) "
    f"SELECT 'agent:main:rest:dm:c' || seq, {_PERSON}, CASE WHEN seq % {SHARES['telegram']} THEN "
    "'rest' ELSE 'telegram' END, 'c' || seq, 2, 1, ?3 + seq * 1.5 FROM n"
)
_TABLES = {
    "inbox": (
        "INSERT INTO inbox (seq, id, account, platform, route, external_id, digest, lane, control, "
        "busy, person_id, body, state, outcome, attempts, received_at, started_at, done_at) "
        f"SELECT seq, {_ID}, 'default', CASE WHEN seq % {SHARES['telegram']} THEN 'rest' ELSE "
        f"'telegram' END, 'api', 'x' || seq, randomblob(20), 'agent:main:rest:dm:' || {_PERSON}, 0, "
        f"'queue', {_PERSON}, 0, 'done', CASE WHEN seq % {SHARES['failed']} THEN 'answered' ELSE "
        "'failed' END, 1, ?3 + seq * 1.5, ?3 + seq * 1.5, ?3 + seq * 1.5 + 1.5 FROM n"
    ),
    "interactions": (
        "INSERT INTO interactions (message_id, person_id, agent, platform, llm_backend, "
        "llm_cache_hit, soul_load_ms, semantic_recall_used, tools, tool_exec_ms, tokens_in, "
        "tokens_out, cost_usd, platform_tokens, platform_cost_usd, at) "
        f"SELECT {_ID}, {_PERSON}, CASE WHEN seq % {SHARES['second agent']} THEN 'main' ELSE 'helper' "
        f"END, 'rest', CASE WHEN seq % {SHARES['small model']} THEN 'openai:gpt-4o' ELSE "
        "'openai:gpt-4o-mini' END, 0, 1.0, 0, 'web_fetch', 12.0, 1200, 80, "
        f"CASE WHEN seq % {SHARES['a dollar']} = 0 THEN 1.5 WHEN seq % {SHARES['a cent']} = 0 THEN 0.02 "
        "ELSE 0.002 END, 0, 0.0, ?3 + seq * 1.5 + 1.5 FROM n"
    ),
    "steps": (
        "INSERT INTO steps (message_id, ordinal, kind, state, name, arguments_hash, person_id, "
        "tokens_in, tokens_out, cost_usd, payer, started_at, ended_at) "
        f"SELECT {_ID}, step, CASE step WHEN 0 THEN 'prepared' ELSE 'model' END, 'done', "
        f"'openai:gpt-4o', x'00', {_PERSON}, 1200, 80, 0.002, 'person', ?3 + seq * 1.5, "
        "?3 + seq * 1.5 + 1.0 FROM n, (SELECT 0 AS step UNION ALL SELECT 1)"
    ),
    "events": (
        "INSERT INTO events (message_id, at, kind, data) "
        f"SELECT {_ID}, ?3 + seq * 1.5, kind, '{{}}' FROM n, "
        "(SELECT 'routed' AS kind UNION ALL SELECT 'gated' UNION ALL SELECT 'ended')"
    ),
    "outbox": (
        "INSERT INTO outbox (id, message_id, person_id, platform, chat_id, target, state, purpose, "
        "next_at, created_at, ended_at) "
        f"SELECT replace({_ID}, 'm_', 'o_'), {_ID}, {_PERSON}, 'rest', {_PERSON}, '{{}}', 'sent', "
        "'reply', 0.0, ?3 + seq * 1.5, ?3 + seq * 1.5 + 1.6 FROM n"
    ),
}


def add_messages(home: Path, count: int, *, start: float) -> None:
    """Add finished messages to the store of a home that rests, as if they had come before its own.

    The first is of the time `start`, each other 1.5 s later.
    """
    db = apsw.Connection(str(home / DATABASE))
    try:
        db.pragma("synchronous", "off")
        with db:
            _make_room(db, count)
            db.execute(_NUMBERS + _ADD_PEOPLE, (1, PEOPLE, start))
            sessions = min(count, SESSIONS)
            db.execute(_NUMBERS + _ADD_SESSIONS, (1, sessions, start))
            for table in ("inbox", "interactions", "steps", "events", "outbox"):
                db.execute(_NUMBERS + _TABLES[table], (1, count, start))
        db.pragma("wal_checkpoint", "truncate")
    finally:
        db.close()
    # Otherwise the commits of what is measured wait for these pages to reach the disk.
    os.sync()


def _make_room(db: apsw.Connection, count: int) -> None:
    """Give the real messages the numbers behind those that are made up."""
    db.execute("UPDATE inbox SET seq = -seq - ?1", (count,))
    db.execute("UPDATE inbox SET seq = -seq")
    db.execute("UPDATE sqlite_sequence SET seq = seq + ?1 WHERE name = 'inbox'", (count,))
