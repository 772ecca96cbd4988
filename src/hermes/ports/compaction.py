"""The compaction port: what a job reads of a long conversation, and how it ends with a summary."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from hermes.message.chat import ChatMessage
from hermes.ports.memory import Job
from hermes.ports.spend import SpendEntry
from hermes.ports.transcripts import Compaction

COMPACTED = "main:compacted"
"""The branch on which compactions are versions; no state that people keep can have this name."""
COMPACT = "compact"
"""The kind of the jobs that sum conversations up."""
ASKED = "asked"
"""How the key of a job ends that somebody asked for."""


class LongConversation(msgspec.Struct, frozen=True, kw_only=True):
    """What models see of a conversation now: a summary of its older messages, and the others.

    `model` answered last, as `provider:model`; it is empty if nobody has.
    """

    summary: ChatMessage | None
    messages: tuple[ChatMessage, ...]
    model: str


class OlderPart(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be summed up: messages `start` to `stop` of a session, of which `messages` are new.

    `source` names these messages: a summary is void if the conversation was changed meanwhile.
    """

    start: int
    stop: int
    source: bytes
    conversation: LongConversation
    messages: tuple[ChatMessage, ...]


class CompactionStore(Protocol):
    """Conversations that are summed up, and the jobs that do it."""

    async def older(
        self, job: Job, cut: Callable[[LongConversation], int], *, limit: int
    ) -> OlderPart | None:
        """Return the part of a job's conversation that `cut` says is older; None if there is none.

        `cut` gets about `limit` bytes of it and returns how many of its messages are to go.
        """
        ...

    async def finish(
        self,
        job: Job,
        made: Compaction | None,
        *,
        source: bytes,
        at: float,
        spent: Sequence[SpendEntry],
    ) -> bool:
        """End a job with what it made and cost; return whether the conversation was still the same."""
        ...
