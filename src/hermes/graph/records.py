"""What the graph stores besides messages: edits, moves of refs, calls, summaries and links.

Frozen values that a storage keeps whole; ids are bytes as the graph's hasher made them.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

EditKind = Literal[
    "start", "branch", "append", "insert", "set", "delete", "replace", "answer", "undo", "squish",
    "expand", "retry", "switch", "redo",
]  # fmt: skip
# What calls did with a run of messages: (mark, count). See marks.py.
Runs = tuple[tuple[int, int], ...]
Rating = Literal["up", "down", "none"]
_SHOWN_BYTES = 6
# In the metadata of a call that was made to try something out: which call it repeats.
REPEATS = "replay_of"


class GraphRecord(msgspec.Struct, frozen=True):
    """A stored value; its text for people leaves out defaults and shortens names to hex."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map('='.join, _told(self)))})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        # Rich prints the value of each by its own text.
        return [(name, _ShownText(text)) for name, text in _told(self)]


class _ShownText(str):
    """A text that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def short_name(name: bytes) -> str:
    """Return the first letters of a name of a message or context, in hex."""
    return f"<{name[:_SHOWN_BYTES].hex()}>"


def _told(record: GraphRecord) -> Iterator[tuple[str, str]]:
    for field in msgspec.structs.fields(record):
        value = getattr(record, field.name)
        if not _is_default(value, field):
            yield field.name, short_name(value) if isinstance(value, bytes) else repr(value)


def _is_default(value: object, field: msgspec.structs.FieldInfo) -> bool:
    if field.default_factory is not msgspec.NODEFAULT:
        return bool(value == field.default_factory())
    return field.default is not msgspec.NODEFAULT and bool(value == field.default)


class Summary(GraphRecord, frozen=True, omit_defaults=True):
    """What a summary blob replaces: messages `start` to `stop` of the context `source`."""

    blob: bytes
    source: bytes
    start: int
    stop: int
    call: str | None = None


class Edit(GraphRecord, frozen=True, omit_defaults=True):
    """A change of `removed` messages at `start` into `added` others.

    `was` and `now` are the marks of the removed and the added messages. `parallel` is true if and
    only if a recorded call saw or wrote one of the messages that changed: then the messages before
    and after are versions of each other.
    """

    kind: EditKind
    start: int
    removed: int
    added: int
    actor: str = ""
    reason: str = ""
    parallel: bool = False
    was: Runs = ()
    now: Runs = ()
    summary: Summary | None = None


class Origin(GraphRecord, frozen=True):
    """Where a branch began: a version of another branch."""

    branch: str
    version: int


class Move(GraphRecord, frozen=True, omit_defaults=True):
    """One row of a ref's log: version `number` of a branch, and the edit that made it.

    `content` is the version whose messages these are: itself, or an earlier one for an undo or a
    switch. `before` is the root that the ref had; None if it did not exist.
    """

    graph: str
    branch: str
    number: int
    before: bytes | None
    after: bytes
    length: int
    content: int
    edit: Edit
    origin: Origin | None = None
    at: float | None = None


class Ref(GraphRecord, frozen=True):
    """The head of a branch: the root of its messages, their number and the version."""

    root: bytes
    length: int
    version: int


class Call(GraphRecord, frozen=True, omit_defaults=True):
    """One model call: the context it saw, its parameters, and the blob it wrote.

    The context is `lead` messages that are not in the branch, such as system prompts, then messages
    `start` to `shared` of `version` of the branch, then other messages that were sent and not kept.
    `sampled` is false for answers that were not sampled from a model, such as those from a cache.
    """

    id: str
    graph: str
    branch: str
    version: int
    context: bytes
    length: int
    shared: int
    model: str
    lead: int = 0
    start: int = 0
    response: bytes | None = None
    tools: bytes | None = None
    sampling: dict[str, Any] = {}  # Any: JSON as the caller passed it
    usage: dict[str, Any] = {}  # Any: as above
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    metadata: dict[str, Any] = {}  # Any: as above
    sampled: bool = True
    at: float | None = None


class Link(GraphRecord, frozen=True, omit_defaults=True):
    """A tool call of `call` that another graph answered, and what is known about its result."""

    graph: str
    call: str
    tool_call_id: str
    child: str | None = None
    metadata: dict[str, Any] = {}  # Any: JSON as the caller passed it


class Feedback(GraphRecord, frozen=True, omit_defaults=True):
    """A thumb for the answer of `call`; the latest of an actor counts, and `none` takes it back."""

    graph: str
    call: str
    rating: Rating
    actor: str = ""
    reason: str = ""
    at: float | None = None


class Edge(GraphRecord, frozen=True):
    """A parallel edge: at `version`, `after` (if any) replaced the blob `before` at `index`."""

    version: int
    index: int
    before: bytes
    after: bytes | None
