"""Reads all rows of a person in pages, with their bodies opened; writes nothing.

Each table of the schema is either read here or by the rest of the export, or listed with the reason
why it is left out: a test compares both lists with the schema.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import structlog

from hermes.errors import StoreError
from hermes.ports.person_rows import PersonRow
from hermes.store.sql.places import (
    DREAM_PLACE,
    Place,
    chat_place,
    event_place,
    fact_place,
    job_place,
    name_place,
)
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.tx import Rows

_SQL = load("person_rows")
_PAGE = 500
_log = structlog.get_logger(__name__)

EXPORTED: Mapping[str, str] = {
    "people": "person, consent",
    "user_channels": "channel",
    "pairings": "pairing",
    "link_codes": "link_code",
    "wallets": "wallet",
    "ledger": "credit",
    "holds": "hold",
    "facts": "fact",
    "dreams": "dream",
    "graphs": "message",
    "refs": "message",
    "moves": "message",
    "chunks": "message",
    "blobs": "message, and the bodies of all other kinds",
    "lanes": "session",
    "inbox": "accepted",
    "outbox": "delivery",
    "approvals": "approval",
    "interactions": "interaction",
    "spend": "spending",
    "caller_keys": "key",
    "response_chains": "response",
    "stored_responses": "response",
    "cron_jobs": "job",
    "directory": "chat",
    "overheard": "overheard",
}
LEFT_OUT: Mapping[str, str] = {
    "meta": "facts about the database",
    "person_keys": "the key that everything of the person is sealed with",
    "steps": "the working notes of turns: what was said and called is in message and accepted",
    "events": "times of the stages of a turn; no words, kept for a few days",
    "calls": "which messages a model call read and wrote: the messages are in message",
    "feedback": "thumbs for answers, with their reasons",
    "links": "which conversation answered which tool call",
    "lane_writers": "which senders used a name of a conversation in an old version",
    "offers": "which answers were shown as buttons: the question with them is in delivery",
    "early_reactions": "thumbs that wait, for a day at most, until their message is known",
    "outbox_more": "ids of further messages of a delivery on the platform",
    "outbox_parts": "ids of further messages of a delivery on the platform",
    "refusals": "messages that were not accepted, without their words and their person",
    "wrong_codes": "how many wrong codes came from a sender of late",
    "spend_days": "sums over everybody",
    "turn_counts": "sums over everybody",
    "kept_answers": "copies of answers that are in message, kept for a short time",
    "vector_pages": "numbers that are computed from fact",
    "vectors_wanted": "facts for which these numbers are still to be computed",
    "souls": "what a model was told of the person, computed from fact and dream",
    "jobs": "work that is still to be done after a reply",
    "audit": "what operators did; it names the person by id alone",
    "credentials": "hashes of tokens, invitations and browser sessions",
    "agents": "agents that operators made",
    "agent_versions": "what operators set of them",
    "paused_channels": "platforms",
    "secrets": "API keys and passwords of the gateway and of its agents",
    "channel_state": "what a platform's connection remembers; it names people by keyed digests only",
    "task_pushes": "where programs are notified of the person's tasks; it has their credentials",
    "bot_turns": "how often bots answered each other in a chat",
    "replays": "which answers operators had made again; what was said is in message",
    "nodes": "processes",
    "claims": "processes",
    "feed": "changes that other processes have to hear of",
}


class _Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of rows: its columns after the one that it is read by, and which of them are bodies.

    A body is a number in `blobs`, or sealed in the row itself; `place` says where it belongs. With
    `is_text` it is plain text, otherwise JSON, of which the fields are the row's if it is `spread`.
    `flags` are numbers that say yes or no.
    """

    name: str
    columns: tuple[str, ...]
    bodies: tuple[str, ...] = ()
    is_sealed: bool = False
    is_text: bool = False
    spread: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    first: str | int | bytes = ""
    # Any: SQLite's values, by column.
    place: Callable[[Mapping[str, Any]], Place | None] = lambda _row: None


_KINDS = (
    _Kind(name="person", columns=("state", "tier", "created_at", "language")),
    _Kind(name="consent", columns=("may_train", "at"), flags=("may_train",)),
    _Kind(
        name="channel",
        columns=(
            *("platform", "user_id", "added_at", "activated_at", "activated_how", "was_person"),
            "name",
        ),
        bodies=("name",),
        is_sealed=True,
        is_text=True,
        place=lambda row: name_place(row["platform"], row["user_id"]),
    ),
    _Kind(name="pairing", columns=("platform", "user_id", "asked_at", "expires_at", "state")),
    _Kind(
        name="link_code",
        columns=("made_at", "expires_at", "is_used"),
        flags=("is_used",),
        first=b"",
    ),
    _Kind(
        name="fact",
        columns=("fact",),
        bodies=("fact",),
        is_sealed=True,
        spread=("key", "value", "source", "at", "updated_at", "is_structural", "earlier"),
        place=lambda row: fact_place(row["_row"]),
    ),
    _Kind(
        name="dream",
        columns=("dream",),
        bodies=("dream",),
        is_sealed=True,
        spread=("at", "insights", "gaps"),
        place=lambda _row: DREAM_PLACE,
    ),
    _Kind(
        name="wallet",
        columns=(
            *("balance", "held", "is_limited", "had_start", "code", "referred_by", "referred"),
        ),
        flags=("is_limited", "had_start"),
    ),
    _Kind(
        name="credit",
        columns=("booked", "amount", "message_id", "at", "note"),
        bodies=("note",),
        first=0,
    ),
    _Kind(name="hold", columns=("amount", "at")),
    _Kind(
        name="session",
        columns=("platform", "chat_id", "epoch", "used_at", "ended_at", "end_reason"),
    ),
    _Kind(
        name="accepted",
        columns=(
            *("id", "platform", "account", "route", "external_id", "session", "state", "outcome"),
            *("at", "done_at", "event"),
        ),
        bodies=("event",),
        first=0,
        place=lambda row: event_place(row["id"]),
    ),
    _Kind(
        name="delivery",
        columns=(
            *("id", "message_id", "platform", "chat_id", "state", "purpose", "at", "ended_at"),
            "said",
        ),
        bodies=("said",),
        first=0,
    ),
    _Kind(
        name="approval",
        columns=(
            *("message_id", "tool", "requester", "chat_type", "asked_at", "expires_at", "state"),
            *("decided_by", "decided_at", "question", "answer"),
        ),
        bodies=("question", "answer"),
    ),
    _Kind(
        name="interaction",
        columns=(
            *("agent", "platform", "model", "tools", "tokens_in", "tokens_out", "cost_usd", "at"),
        ),
    ),
    _Kind(
        name="spending",
        columns=(
            *("day", "agent", "channel", "key_id", "model", "calls", "tokens_in", "tokens_out"),
            "cost_usd",
        ),
    ),
    _Kind(
        name="key",
        columns=(
            *("label", "user_id", "hint", "created_at", "models", "budget_usd", "budget_tokens"),
            *("expires_at", "revoked_at", "read_history"),
        ),
    ),
    _Kind(
        name="response", columns=("previous", "at", "items", "answer"), bodies=("items", "answer")
    ),
    _Kind(
        name="job",
        columns=("created_at", "next_at", "paused_at", "last_at", "runs", "task"),
        bodies=("task",),
        is_sealed=True,
        place=lambda row: job_place(row["id"]),
    ),
    _Kind(
        name="chat",
        columns=("platform", "chat_id", "seen_at", "entry"),
        bodies=("entry",),
        is_sealed=True,
        place=lambda row: chat_place(row["platform"], row["chat_id"]),
    ),
    _Kind(
        name="overheard",
        columns=("chat", "thread", "message_id", "at", "event"),
        bodies=("event",),
        first=0,
        place=lambda row: event_place(row["message_id"]),
    ),
)
# By what the rows of these are read is no id of theirs.
_UNNAMED = frozenset(
    {
        *("consent", "channel", "pairing", "link_code", "fact", "dream", "wallet"),
        *("credit", "accepted", "delivery", "spending", "chat", "overheard"),
    }
)
_NAMES = {"hold": "message_id", "session": "session", "interaction": "message_id"}


def person_rows(db: Rows, person_id: str, *, sealer: Sealer) -> Iterator[PersonRow]:
    """Yield all rows of a person, a page at a time."""
    for kind in _KINDS:
        after: Any = kind.first
        while rows := db.rows(_SQL[kind.name], (person_id, after, _PAGE)):
            for row in rows:
                fields = dict(zip((_name(kind), *kind.columns), row, strict=True))
                _open(db, kind, fields, person_id=person_id, sealer=sealer)
                if kind.name in _UNNAMED:
                    del fields[_name(kind)]
                for name in kind.flags:
                    fields[name] = bool(fields[name])
                yield PersonRow(kind.name, fields)
            after = rows[-1][0]


def _name(kind: _Kind) -> str:
    return "_row" if kind.name in _UNNAMED else _NAMES.get(kind.name, "id")


def _open(db: Rows, kind: _Kind, fields: dict[str, Any], *, person_id: str, sealer: Sealer) -> None:
    """Put the bodies of a row where their numbers were; what does not open is None."""
    for name in kind.bodies:
        held, place = fields[name], kind.place(fields)
        fields[name] = None
        if held is None:
            continue
        try:
            content = (
                sealer.open_at_once(db, person_id, held, place=place or ())
                if kind.is_sealed
                else sealer.get_at_once(db, held, owner=person_id, place=place)
            )
            body = None if content is None else _read(content, kind)
            if kind.spread and isinstance(body, dict):
                fields.update({one: body[one] for one in kind.spread if one in body})
                del fields[name]
            else:
                fields[name] = _own_words(body) if name == "event" else body
        except (StoreError, msgspec.DecodeError) as error:
            _log.error("body_not_exported", kind=kind.name, problem=str(error))


# Any: JSON of any shape.
def _read(content: bytes, kind: _Kind) -> Any:
    return content.decode() if kind.is_text else msgspec.json.decode(content)


def _own_words(event: Any) -> Any:
    """Return a stored event without what other people said: what came before it, and what it quotes."""
    if isinstance(event, dict):
        event.pop("channel_context", None)
        if isinstance(quoted := event.get("reply_to"), dict):
            quoted.pop("text", None)
    return event
