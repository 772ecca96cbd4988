"""Assembles the chunks of a streamed chat completion: pure, no sockets.

Text, reasoning and tool calls are passed on as they come, and the end is reported only after the
service said why it stopped.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from hermes.message.ids import MakeId
from hermes.message.parts import Part, ReasoningPart, TextPart, ToolCallPart, text_of, tool_calls_of
from hermes.message.reply import Usage
from hermes.ports.pricing import counted
from hermes.ports.provider import ModelEvent, ReasoningDelta, StopReason, TextDelta, ToolCallDelta
from hermes.provider_kit.assembly import BaseAssembly, read_tokens
from hermes.provider_kit.service_failure import reported
from hermes.providers.openai.chunks import (
    CallPiece,
    Choice,
    ContentBlock,
    Delta,
    WireUsage,
    decode_chunk,
)
from hermes.providers.openai.presets import Quirks
from hermes.providers.openai.settings import OpenAISettings
from hermes.providers.openai.wire import DIALECT, join_detail

DONE = b"[DONE]"
_FAILED = "error"
_STOP_REASONS: dict[str, StopReason] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refusal",
}


class _Call:
    """A tool call whose pieces are still arriving; it is reported once its name is known."""

    __slots__ = ("arguments", "id", "name", "position", "told")

    def __init__(self, position: int) -> None:
        self.position = position
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.told = False


class CallCollector:
    """The tool calls of one answer, in the order in which they began."""

    def __init__(self, make_id: MakeId) -> None:
        self._make_id = make_id
        self._calls: dict[int, _Call] = {}

    def add(self, piece: CallPiece) -> ToolCallDelta | None:
        """Take one piece and return what it adds to the visible stream."""
        call = self._call_of(piece)
        if piece.id and not call.id:
            call.id = piece.id
        function = piece.function
        more = ""
        if function is not None:
            # Some servers repeat the whole name with every piece.
            if function.name and function.name != call.name:
                call.name += function.name
            if function.arguments:
                more = function.arguments
                call.arguments.append(more)
        if call.told:
            return ToolCallDelta(call.position, arguments=more) if more else None
        return self._tell(call) if call.name else None

    def __len__(self) -> int:
        return len(self._calls)

    def finished(self) -> list[ToolCallPart]:
        """Return the complete calls, by position."""
        return [
            ToolCallPart(
                call.id or self._make_id("call"), call.name, "".join(call.arguments) or "{}"
            )
            for call in self._calls.values()
        ]

    def _call_of(self, piece: CallPiece) -> _Call:
        index = piece.index
        if index is None:
            # Servers without an index send each call complete; a piece with an id begins a new one.
            index = len(self._calls) if piece.id or not self._calls else len(self._calls) - 1
        call = self._calls.get(index)
        if call is None:
            call = self._calls[index] = _Call(len(self._calls))
        return call

    def _tell(self, call: _Call) -> ToolCallDelta:
        call.told = True
        call.id = call.id or self._make_id("call")
        return ToolCallDelta(call.position, call.id, call.name, "".join(call.arguments))


class OpenAIAssembly(BaseAssembly[OpenAISettings]):
    """The answer of one call under construction."""

    def __init__(
        self, settings: OpenAISettings, *, sent_chars: int, make_id: MakeId, model: str = ""
    ) -> None:
        super().__init__(settings, sent_chars=sent_chars, make_id=make_id, model=model)
        # In the order in which they began: runs of text, thoughts, and the calls by position.
        self._order: list[list[str] | ReasoningPart | int] = []
        self._run: list[str] | None = None
        self._thoughts = ThoughtCollector(settings.rules)
        self._calls = CallCollector(make_id)
        self._usage: WireUsage | None = None
        self._finish: str | None = None

    @property
    def ended(self) -> bool:
        """Whether the service has said that the answer is complete."""
        return self._finish is not None or (self.done and self.started)

    @property
    def started(self) -> bool:
        """Whether anything of the answer has arrived."""
        return bool(self._order or self._thoughts.size)

    def feed(self, payload: bytes) -> Sequence[ModelEvent]:
        """Take one event's payload and return what it adds to the visible stream."""
        if payload == DONE:
            self.done = True
            return ()
        try:
            chunk = decode_chunk(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if self.ended:
                self.done = True  # what is lost after the announced end is not needed
                return ()
            return self._skip_unread("sent something that is not a chat-completion chunk")
        if chunk.error and bytes(chunk.error) != b"null":
            settings = self._settings
            raise self._failed(reported(settings.name, payload, secret=settings.api_key))
        if chunk.usage is not None:
            self._usage = chunk.usage
        if chunk.model:
            self._model = chunk.model
        if not chunk.choices:
            return ()
        choice = chunk.choices[0]
        if self.wants_logprobs and choice.logprobs is not None:
            return self._with_logprobs(self._choice(choice), read_tokens(choice.logprobs.content))
        return self._choice(choice)

    def _choice(self, choice: Choice) -> Sequence[ModelEvent]:
        if choice.finish_reason is None:
            return self._delta(choice.delta) if choice.delta is not None else ()
        self._finish_with(choice)
        events = self._delta(choice.delta) if choice.delta is not None else ()
        return [*events, *self._close_thought()]

    def _parts(self) -> Iterator[Part]:
        self._close_thought()
        calls = self._calls.finished()
        for one in self._order:
            if isinstance(one, list):
                yield TextPart("".join(one))
            elif isinstance(one, ReasoningPart):
                yield one
            else:
                yield calls[one]

    def _size(self) -> int:
        said = sum(len(one) for one in self._order if isinstance(one, list))
        return said + self._thoughts.size + len(self._calls)

    def _finish_with(self, choice: Choice) -> None:
        if choice.finish_reason == _FAILED:
            raise self._broken("stopped in the middle without a reason")
        self._finish = choice.finish_reason
        if isinstance(choice.stop_reason, str) and choice.finish_reason == "stop":
            self._stop_sequence = choice.stop_reason

    def _delta(self, delta: Delta) -> Sequence[ModelEvent]:
        content = delta.content
        if (
            not isinstance(content, str)
            or not content
            or delta.tool_calls
            or delta.reasoning_content
            or delta.reasoning
            or delta.reasoning_details
            or delta.refusal
        ):
            return self._several(delta)
        if self._run is None or self._thoughts.is_open:
            return self._say(content)
        self._run.append(content)
        return (TextDelta(content),)

    def _say(self, text: str) -> list[ModelEvent]:
        events = self._close_thought()
        if self._run is None:
            self._run = []
            self._order.append(self._run)
        self._run.append(text)
        return [*events, TextDelta(text)]

    def _refuse(self, text: str) -> list[ModelEvent]:
        events = self._close_thought()
        is_next = self._run is not None
        if not self._refusal:
            self._order.append(self._refusal)
        self._run = None
        self._refusal.append(text)
        return [*events, TextDelta(text, starts_part=is_next, refusal=True)]

    def _close_thought(self) -> list[ModelEvent]:
        """End a thought that something else follows."""
        if not self._thoughts.is_open:
            return []
        part = self._thoughts.close()
        self._order.append(part)
        self._run = None
        return [ReasoningDelta("", whole=(part,))]

    def _several(self, delta: Delta) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        thought = self._thoughts.add(delta)
        if thought:
            events.append(ReasoningDelta(thought))
            self._run = None
        text = _text_of(delta.content)
        if text:
            events += self._say(text)
        if delta.refusal:
            events += self._refuse(delta.refusal)
        for piece in delta.tool_calls or ():
            events += self._call(piece)
        return events

    def _call(self, piece: CallPiece) -> list[ModelEvent]:
        before = len(self._calls)
        told = self._calls.add(piece)
        events: list[ModelEvent] = []
        if len(self._calls) > before:
            events = self._close_thought()
            self._order.append(before)
            self._run = None
        return events if told is None else [*events, told]

    def _thoughts_go_back(self) -> bool:
        return self._settings.rules.reasoning_back is not None

    def _stop_reason(self) -> StopReason:
        return _STOP_REASONS.get(self._finish or "stop", "end")

    def _measure(self, parts: tuple[Part, ...]) -> Usage:
        usage = self._usage
        if usage is None:
            written = len(text_of(parts)) + self._thoughts.size
            return self._guess(written + sum(len(call.arguments) for call in tool_calls_of(parts)))
        return Usage(
            tokens_in=counted(usage.prompt_tokens),
            tokens_out=counted(usage.completion_tokens),
            cached_in=counted(usage.cached),
            reasoning_out=counted(usage.reasoned),
        )


def _text_of(content: str | list[ContentBlock] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(block.text or "" for block in content)


class ThoughtCollector:
    """Reasoning under construction; `size` counts its characters.

    `is_open` says whether a thought has begun and not ended. It is a plain attribute, because it is
    read for every chunk.
    """

    def __init__(self, quirks: Quirks) -> None:
        self._field = quirks.reasoning_back
        self._text: list[str] = []
        # Any: objects that the service defines.
        self._details: list[dict[str, Any]] = []
        self.size = 0
        self.is_open = False

    def add(self, delta: Delta) -> str:
        """Take one chunk's delta and return the reasoning in it."""
        text = delta.reasoning_content or delta.reasoning or ""
        if delta.reasoning_details:
            text = text or "".join(_words(detail) for detail in delta.reasoning_details)
            if self._field == "reasoning_details":
                for detail in delta.reasoning_details:
                    join_detail(self._details, detail)
        if isinstance(delta.content, list):
            text += "".join(_thinking(block) for block in delta.content)
        if text:
            self.size += len(text)
            self._text.append(text)
        self.is_open = bool(self._text or self._details)
        return text

    def close(self) -> ReasoningPart:
        """End the thought and return it, with what goes back to the service with the next call."""
        sealed = msgspec.json.encode(self._details).decode() if self._details else None
        part = ReasoningPart("".join(self._text), DIALECT, sealed=sealed)
        self._text, self._details = [], []
        self.is_open = False
        return part


def _words(detail: dict[str, Any]) -> str:
    text = detail.get("text") or detail.get("summary")
    return text if isinstance(text, str) else ""


def _thinking(block: ContentBlock) -> str:
    return "".join(piece.text or "" for piece in block.thinking or ())
