"""Assembles the events of a streamed message: pure, no sockets.

Text, reasoning and tool calls are passed on as they come; the end is reported only after the
service said why it stopped and that the message is complete.
"""

from collections.abc import Callable, Iterator

import msgspec

from hermes.errors import ProviderError, ProviderRejected, ProviderUnavailable
from hermes.message.ids import MakeId
from hermes.message.parts import Part, ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.provider import ReasoningDelta, StopReason, TextDelta, ToolCallDelta
from hermes.provider_kit.assembly import BaseAssembly
from hermes.provider_kit.service_failure import is_refused_everywhere, mask
from hermes.providers.anthropic.conversation import DIALECT
from hermes.providers.anthropic.events import (
    BlockStart,
    Counts,
    MessageStart,
    StreamEvent,
    decode_event,
)
from hermes.providers.anthropic.settings import AnthropicSettings
from hermes.providers.anthropic.wire import AnswerTool, unwrap

Delta = TextDelta | ReasoningDelta | ToolCallDelta

# A paused turn and a full context are as incomplete as an answer at its limit.
_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "end",
    "max_tokens": "length",
    "pause_turn": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


_BLOCKS = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})


class _Block:
    """One content block whose pieces are still arriving; `call` counts the tool calls."""

    __slots__ = ("call", "content", "pieces", "signature")

    def __init__(self, content: BlockStart, call: int) -> None:
        self.content = content
        self.call = call
        self.pieces: list[str] = []
        self.signature = content.signature


class AnthropicAssembly(BaseAssembly[AnthropicSettings]):
    """The answer of one call under construction; `answer` is the tool whose call is the answer."""

    def __init__(
        self,
        settings: AnthropicSettings,
        *,
        sent_chars: int,
        make_id: MakeId,
        model: str = "",
        answer: AnswerTool | None = None,
    ) -> None:
        super().__init__(settings, sent_chars=sent_chars, make_id=make_id, model=model)
        self._answer = answer
        self._blocks: dict[int, _Block] = {}
        self._calls = 0
        self._saying: _Block | None = None
        self._counts: Counts | None = None
        self._stop: str | None = None
        self._started = False

    @property
    def ended(self) -> bool:
        """Whether the service has said why the answer stopped, and that it is complete."""
        return self.done and self._stop is not None

    @property
    def started(self) -> bool:
        """Whether anything of the answer has arrived."""
        return self._started

    def feed(self, payload: bytes) -> tuple[Delta, ...]:
        """Take one event's payload and return what it adds to the visible stream."""
        try:
            event = decode_event(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._skip_unread("sent something that is not an event of a message")
        # New kinds of events may be added at any time: unknown ones are ignored.
        take = _TAKERS.get(event.type)
        made = take(self, event) if take is not None else None
        if made is None:
            return ()
        self._started = True
        if not isinstance(made, TextDelta):
            self._saying = None
        return (made,)

    def _size(self) -> int:
        return sum(1 + len(block.pieces) for block in self._blocks.values())

    def _begin(self, event: StreamEvent) -> None:
        message = event.message or MessageStart()
        self._model = message.model or self._model
        self._count(message.usage)

    def _open(self, event: StreamEvent) -> Delta | None:
        content = event.content_block or BlockStart()
        if event.index in self._blocks:
            raise self._broken(f"opened the block {event.index} twice")
        block = self._blocks[event.index] = _Block(content, self._calls)
        if content.type not in _BLOCKS:
            self._skip(content.type)
        if content.type == "tool_use":
            return self._open_call(block)
        if content.type == "redacted_thinking":
            return ReasoningDelta("", sealed=content.data or "")
        return self._more(block, text=content.text, thinking=content.thinking)

    def _open_call(self, block: _Block) -> Delta | None:
        self._started = True
        if self._is_answer(block):
            return None
        self._calls += 1
        content = block.content
        content.id = content.id or self._make_id("call")
        return ToolCallDelta(block.call, content.id, content.name or "")

    def _grow(self, event: StreamEvent) -> Delta | None:
        block = self._blocks.get(event.index)
        change = event.delta
        if block is None or change is None:
            raise self._broken(f"went on with the block {event.index}, which it never opened")
        if change.signature:
            block.signature = change.signature
        if change.partial_json and block.content.type == "tool_use":
            return self._more_input(block, change.partial_json)
        return self._more(block, text=change.text, thinking=change.thinking)

    def _more(self, block: _Block, *, text: str | None, thinking: str | None) -> Delta | None:
        if text and block.content.type == "text":
            block.pieces.append(text)
            is_next = self._saying is not None and self._saying is not block
            self._saying = block
            return TextDelta(text, starts_part=is_next)
        if thinking and block.content.type == "thinking":
            block.pieces.append(thinking)
            return ReasoningDelta(thinking)
        return None

    def _more_input(self, block: _Block, piece: str) -> Delta | None:
        block.pieces.append(piece)
        if not self._is_answer(block):
            return ToolCallDelta(block.call, arguments=piece)
        # A wrapped answer can be shown only when it is complete.
        return None if self._answer is None or self._answer.wrapped else TextDelta(piece)

    def _close(self, event: StreamEvent) -> Delta | None:
        block = self._blocks.get(event.index)
        if block is None:
            return None
        if not self._is_answer(block):
            return _last_piece(block)
        shown = self._answer is not None and not self._answer.wrapped and bool(block.pieces)
        return None if shown else TextDelta(self._text_of_answer(block))

    def _change(self, event: StreamEvent) -> None:
        if event.delta is not None and event.delta.stop_reason is not None:
            self._stop, self._stop_sequence = event.delta.stop_reason, event.delta.stop_sequence
        self._count(event.usage)

    def _finish(self, _event: StreamEvent) -> None:
        self.done = True

    def _fail(self, event: StreamEvent) -> None:
        error = stream_failure(
            self._settings.name, bytes(event.error), secret=self._settings.secret
        )
        raise self._failed(error)

    def _count(self, told: Counts | None) -> None:
        if told is not None:
            self._counts = told if self._counts is None else self._counts.updated(told)

    def _stop_reason(self) -> StopReason:
        return _STOP_REASONS.get(self._stop or "", "end")

    def _parts(self) -> Iterator[Part]:
        for _, block in sorted(self._blocks.items()):
            part = self._part(block)
            if part is not None:
                yield part

    def _measure(self, parts: tuple[Part, ...]) -> Usage:
        if self._counts is not None:
            return self._counts.usage()
        return self._guess(sum(len(p) for block in self._blocks.values() for p in block.pieces))

    def _part(self, block: _Block) -> Part | None:
        content, text = block.content, "".join(block.pieces)
        if content.type == "text":
            return TextPart(text) if text else None
        if content.type == "thinking":
            signature = block.signature or None
            return ReasoningPart(text, DIALECT, signature) if text or signature else None
        if content.type == "redacted_thinking":
            return ReasoningPart("", DIALECT, sealed=content.data or "")
        if content.type != "tool_use":
            return None
        if self._is_answer(block):
            return TextPart(self._text_of_answer(block))
        return ToolCallPart(content.id or "", content.name or "", text or _compact(content.input))

    def _is_answer(self, block: _Block) -> bool:
        return (
            self._answer is not None
            and block.content.type == "tool_use"
            and block.content.name == self._answer.name
        )

    def _text_of_answer(self, block: _Block) -> str:
        text = "".join(block.pieces) or _compact(block.content.input)
        return unwrap(text) if self._answer is not None and self._answer.wrapped else text


_TAKERS: dict[str, Callable[[AnthropicAssembly, StreamEvent], Delta | None]] = {
    "message_start": AnthropicAssembly._begin,
    "content_block_start": AnthropicAssembly._open,
    "content_block_delta": AnthropicAssembly._grow,
    "content_block_stop": AnthropicAssembly._close,
    "message_delta": AnthropicAssembly._change,
    "message_stop": AnthropicAssembly._finish,
    "error": AnthropicAssembly._fail,
}


def _last_piece(block: _Block) -> Delta | None:
    """Return what is known only at the end of a block, or came complete at its beginning."""
    if block.content.type == "thinking" and block.signature:
        return ReasoningDelta("", signature=block.signature)
    if block.content.type == "tool_use" and not block.pieces:
        return ToolCallDelta(block.call, arguments=_compact(block.content.input))
    return None


def _compact(raw: msgspec.Raw) -> str:
    """Return an input that came complete, without the spaces that a service may put in it."""
    return msgspec.json.encode(msgspec.json.decode(raw)).decode()


_REJECTED_TYPES = frozenset(
    {
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "request_too_large",
    }
)
# Errors for which the request may be at fault, with the HTTP status of each.
_REQUEST_TYPES = {"invalid_request_error": 400, "request_too_large": 413}


class _Detail(msgspec.Struct):
    type: str | None = None
    message: str | None = None


def stream_failure(name: str, error: bytes, *, secret: str | None) -> ProviderError:
    """Return the error for an error event, if nothing was sent before it."""
    try:
        detail = msgspec.json.decode(error, type=_Detail)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        detail = _Detail()
    said = mask(detail.message or "", secret=secret) or "it gave no reason"
    kind = mask(detail.type or "error", secret=secret)
    text = f"{name}: the service reported an error inside the stream: {kind}: {said}"
    if kind not in _REJECTED_TYPES:
        return ProviderUnavailable(text)
    status = _REQUEST_TYPES.get(kind)
    everywhere = status is not None and is_refused_everywhere(status, detail.message or "")
    return ProviderRejected(text, everywhere=everywhere)
