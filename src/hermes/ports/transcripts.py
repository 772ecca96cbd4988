"""Transcripts over the store port: what a session said, and the calls that a commit adds."""

from typing import Any

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.reply import Usage
from hermes.ports.provider import ToolSpec


class TranscriptEntry(msgspec.Struct, frozen=True):
    """One new entry of the transcript; `ordinal` names the step that already holds its body."""

    message: ChatMessage
    ordinal: int | None = None


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """What models see in the place of messages `start` to `stop` of a session.

    `version` is its number in the graph; None until it is written. `by` is the model that summed
    the messages up; empty if they were left out without one.
    """

    start: int
    stop: int
    message: ChatMessage
    version: int | None = None
    by: str = ""


class VisibleHistory(msgspec.Struct, frozen=True):
    """What a turn sees of its session: messages of its graph from `start` on.

    `start` is None when some of them are gone, so that the rest is no run of messages. A
    `compaction` takes the place of what was said before them.
    """

    start: int | None
    messages: tuple[ChatMessage, ...]
    compaction: Compaction | None = None


class NewCall(msgspec.Struct, frozen=True, kw_only=True):
    """One model call of a turn: it saw `lead`, the session from `start`, and `seen` new entries.

    The entry after those is what it wrote. A `start` of None means that `lead` holds all that was
    said before the turn, of which the session has the messages `known` already and which must not
    be kept a second time: they are other people's, too; `skipped` of the turn's own were not shown.
    Only what a model wrote just now, whole and word for word, is `sampled`.
    """

    id: str
    model: str
    seen: int
    lead: tuple[ChatMessage, ...]
    start: int | None
    at: float
    known: tuple[int, int] = (0, 0)
    skipped: int = 0
    tools: tuple[ToolSpec, ...] = ()
    sampling: dict[str, Any] = {}  # Any: JSON, as the request has it
    metadata: dict[str, Any] = {}  # Any: as above
    usage: Usage = Usage()
    sampled: bool = True
    cached_from: str | None = None
