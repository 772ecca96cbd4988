"""The events of a running model call; the pipeline and `/v1` both consume them.

A call may first be `SlotWait` for a slot. It begins with `CallStart`, then pieces of the answer (before
them `ModelName` if the service answers under another name than it was asked for), then exactly one
`FullAnswer`. `CallFailure` comes between two candidates; a call without an answer ends by raising the
last error.
"""

from typing import Any

import msgspec

from hermes.errors import ProviderError
from hermes.ports.provider import CallEnd, ModelName, ReasoningDelta, TextDelta, ToolCallDelta
from hermes.routing.plan import Candidate

Piece = TextDelta | ReasoningDelta | ToolCallDelta


class SlotWait(msgspec.Struct, frozen=True):
    """The call waits: all slots are taken, or all that this asker may have."""


class CallStart(msgspec.Struct, frozen=True):
    """A candidate is about to be called, at a deployment if it has several; nothing is sent yet."""

    candidate: Candidate
    deployment: str = ""


class CallFailure(msgspec.Struct, frozen=True):
    """A candidate failed, and the next one is tried."""

    candidate: Candidate
    error: ProviderError


class FullAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer: its parts, why it stopped, and its usage with the cost.

    `cached_from` is the id of the call that the cached answer came from, `sampling` what the call
    was really made with, `dropped_calls` how many tool calls were left out because the caller takes
    one at a time. `others` are further answers to the same request, if the caller asked for several.
    """

    candidate: Candidate
    end: CallEnd
    cached_from: str | None = None
    sampling: dict[str, Any] = {}  # Any: JSON, as the request has it
    dropped_calls: int = 0
    others: "tuple[FullAnswer, ...]" = ()


CallEvent = SlotWait | CallStart | CallFailure | ModelName | Piece | FullAnswer
