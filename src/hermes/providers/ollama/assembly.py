"""The lines of a streamed Ollama chat put together again: pure, no sockets.

Tool calls come whole, in a line of their own; the end is the line that says `done`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from hermes.errors import ProviderError, ProviderUnavailable, StreamTruncated
from hermes.message.ids import MakeId
from hermes.message.parts import Part, ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.pricing import counted, estimated
from hermes.ports.provider import (
    CallEnd,
    ModelEvent,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCallDelta,
)
from hermes.provider_kit.service_failure import mask
from hermes.providers.ollama.settings import OllamaSettings
from hermes.providers.ollama.wire import DIALECT


class _Function(msgspec.Struct):
    name: str = ""
    # Any: the object that the model filled in.
    arguments: dict[str, Any] | None = None


class _Call(msgspec.Struct):
    function: _Function
    id: str | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class _Line(msgspec.Struct):
    message: _Message | None = None
    model: str | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    error: str | None = None


class _Run:
    """Text or thinking that is still growing."""

    __slots__ = ("pieces", "thought")

    def __init__(self, *, thought: bool) -> None:
        self.thought = thought
        self.pieces: list[str] = []


_decode = msgspec.json.Decoder(_Line).decode


class OllamaAssembly:
    """One call's answer in the making; `sent_chars` is the size of what was asked."""

    def __init__(self, settings: OllamaSettings, *, sent_chars: int, make_id: MakeId) -> None:
        self._settings = settings
        self._sent_chars = sent_chars
        self._make_id = make_id
        self._parts: list[Part] = []
        self._run: _Run | None = None
        self._calls = 0
        self._written = 0
        self._model = settings.model
        self._last: _Line | None = None

    @property
    def done(self) -> bool:
        """Whether nothing more has to be read."""
        return self._last is not None

    @property
    def ended(self) -> bool:
        """Whether the server has said that the answer is whole."""
        return self._last is not None

    @property
    def started(self) -> bool:
        """Whether anything of the answer has arrived."""
        return bool(self._parts or self._run)

    def feed(self, payload: bytes) -> Sequence[ModelEvent]:
        """Take one line and return what it adds to the visible stream."""
        try:
            line = _decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._broken("sent a line that is no piece of a chat") from error
        if line.error is not None:
            told = mask(line.error, secret=self._settings.api_key)
            raise self._broken(f"reported an error inside the stream: {told}")
        if line.model:
            self._model = line.model
        events = self._take(line.message) if line.message is not None else []
        if line.done:
            self._last = line
            events += self._close_run()
        return events

    def end(self) -> CallEnd:
        """Return the whole answer; raise `StreamTruncated` when its end was never announced."""
        last = self._last
        if last is None:
            raise StreamTruncated(
                f"{self._settings.name}: the stream of {self._model} ended without its last line;"
                " the answer is not whole"
            )
        # Only a tool's result makes the model go on from where it thought.
        parts = tuple(p for p in self._parts if self._calls or not isinstance(p, ReasoningPart))
        return CallEnd(parts, self._stop_reason(last), self._measure(last), self._model)

    def _take(self, message: _Message) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        if message.thinking:
            events += self._more(message.thinking, thought=True)
        if message.content:
            events += self._more(message.content, thought=False)
        for call in message.tool_calls or ():
            events += self._called(call)
        return events

    def _more(self, text: str, *, thought: bool) -> list[ModelEvent]:
        told: list[ModelEvent] = []
        if self._run is None or self._run.thought is not thought:
            told = self._close_run()
            self._run = _Run(thought=thought)
        self._run.pieces.append(text)
        self._written += len(text)
        return [*told, ReasoningDelta(text) if thought else TextDelta(text)]

    def _called(self, call: _Call) -> list[ModelEvent]:
        told = self._close_run()
        arguments = msgspec.json.encode(call.function.arguments or {}).decode()
        made = ToolCallPart(call.id or self._make_id("call"), call.function.name, arguments)
        self._parts.append(made)
        self._written += len(arguments)
        self._calls += 1
        return [*told, ToolCallDelta(self._calls - 1, made.id, made.name, arguments)]

    def _close_run(self) -> list[ModelEvent]:
        """End the text or thought that is still growing; the end of a thought is told."""
        run, self._run = self._run, None
        if run is None:
            return []
        text = "".join(run.pieces)
        if not run.thought:
            self._parts.append(TextPart(text))
            return []
        part = ReasoningPart(text, DIALECT)
        self._parts.append(part)
        return [ReasoningDelta("", whole=(part,))]

    def _stop_reason(self, last: _Line) -> StopReason:
        if last.done_reason == "length":
            return "length"
        return "tool_calls" if self._calls else "end"

    def _measure(self, last: _Line) -> Usage:
        # The server leaves a count out when it is zero, or when the prompt came from its cache.
        read, wrote = last.prompt_eval_count, last.eval_count
        return Usage(
            tokens_in=estimated(self._sent_chars) if read is None else counted(read),
            tokens_out=estimated(self._written) if wrote is None else counted(wrote),
        )

    def _broken(self, what: str) -> ProviderError:
        text = f"{self._settings.name}: the server {what}; the answer is not whole"
        return StreamTruncated(text) if self.started else ProviderUnavailable(text)
