"""The provider port: one model call on one candidate; no policy, no retries.

`stream` yields text and reasoning as they come and ends with exactly one `CallEnd`; a stream that
ends without it was truncated and must raise `StreamTruncated` inside the provider.
"""

from collections.abc import AsyncGenerator
from typing import Literal, Protocol

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.parts import Part
from hermes.message.reply import Usage

StopReason = Literal["end", "length", "tool_calls", "refusal"]


class ToolSpec(msgspec.Struct, frozen=True):
    """What a model is told about a tool; `parameters` is a JSON schema as raw JSON."""

    name: str
    description: str
    parameters: msgspec.Raw


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one call sends; `system` are stacked blocks, in order."""

    model: str
    messages: tuple[ChatMessage, ...]
    system: tuple[str, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None
    temperature: float | None = None


class TextDelta(msgspec.Struct, frozen=True, tag="text"):
    """More of the visible answer."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True, tag="reasoning"):
    """More of the model's reasoning, which is not part of the answer."""

    text: str


class CallEnd(msgspec.Struct, frozen=True, tag="end"):
    """The end of a call: the whole message as parts, why it stopped, what it used."""

    parts: tuple[Part, ...]
    stop_reason: StopReason
    usage: Usage
    model: str


ModelEvent = TextDelta | ReasoningDelta | CallEnd


class ProviderInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider can do, as data; `local` ones never leave this machine."""

    name: str
    model: str
    tools: bool
    vision: bool
    context_tokens: int
    price_in_per_million: float = 0.0
    price_out_per_million: float = 0.0
    demonstration: bool = False
    local: bool = False


class Provider(Protocol):
    """One configured model service."""

    @property
    def info(self) -> ProviderInfo:
        """What this provider can do."""
        ...

    async def available(self) -> bool:
        """Tell whether a call may be tried now; asked at call time, bounded in time."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Run one call; closing the iterator cancels it."""
        ...

    async def close(self) -> None:
        """Release what the provider holds."""
        ...
