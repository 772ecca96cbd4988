"""Sessions: commands while turns run, stopping and coming back, backups, and finding what was said."""

from collections.abc import Iterator

from bench.backup import MEDIA_MB, measure_backup
from bench.backup import MESSAGE_BYTES as BACKUP_BYTES
from bench.backup import MESSAGES as BACKUP_MESSAGES
from bench.life import COMMANDS, MODEL_MS, TURNS, measure_life
from bench.long_session import (
    CONTEXT_TOKENS,
    MESSAGE_BYTES,
    measure_long_session,
)
from bench.long_session import MESSAGES as LONG_MESSAGES
from bench.registry import Group, Say, Settings, Target
from bench.search_index import MESSAGES, SEARCHES, measure_search


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Run the whole group."""
    yield from measure_life(say)
    yield from measure_backup(say)
    yield from measure_long_session(say)
    yield from measure_search(say)


def effective_settings() -> Settings:
    """Return what the numbers were measured with."""
    return {
        "turns under way": f"{TURNS}, each in a conversation of its own; {COMMANDS} times /status in each",
        "model": f"takes {MODEL_MS} ms for an answer, which drain and resume wait for",
        "long conversation": f"{LONG_MESSAGES:,} messages of {MESSAGE_BYTES:,} bytes one after the "
        f"other to a model that holds {CONTEXT_TOKENS:,} tokens, with summaries and without",
        "backup": f"{MEDIA_MB} MB of media and {BACKUP_MESSAGES} messages of {BACKUP_BYTES:,} bytes, "
        "while the gateway runs; from the start of the command to its end",
        "search": f"{MESSAGES:,} messages of 20 words on average of 5,000 people, one in twenty in "
        f"Chinese; {SEARCHES} searches of each of eight kinds, by the operator over everybody and "
        "by a person over their own, the newest 20 each",
        "index": "encrypted, in a file; filled in batches of 400 messages a commit",
        "CPU": "of this process, without making the messages up",
    }


GROUP = Group(
    name="sessions",
    about="commands, stopping, coming back, long conversations, searching",
    targets={
        "command_while_busy_p99_ms": Target(at_most=200),
        "resume_after_kill_s": Target(at_most=5),
        "long_session_failures": Target(at_most=0),
        "search_1m_p50_ms": Target(at_most=20),
    },
    settings=effective_settings,
    run=measure,
    library_figures=("search_",),
    has_gateway_cpu=False,
)
