"""Assembles the lines of a streamed Ollama chat: pure, no sockets.

Each tool call comes complete in its own line; the end is the line with `done`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from hermes.message.parts import Part, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.pricing import counted
from hermes.ports.provider import ModelEvent, StopReason
from hermes.provider_kit.assembly import RunAssembly, read_tokens
from hermes.provider_kit.service_failure import mask
from hermes.providers.ollama import wire
from hermes.providers.ollama.settings import OllamaSettings


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
    logprobs: msgspec.Raw = msgspec.Raw()


_decode = msgspec.json.Decoder(_Line).decode


class OllamaAssembly(RunAssembly[OllamaSettings]):
    """The answer of one call under construction."""

    END_MARKER = "its last line"
    DIALECT = wire.DIALECT
    _last = _Line()

    @property
    def ended(self) -> bool:
        """Whether the server has said that the answer is complete."""
        return self.done

    def feed(self, payload: bytes) -> Sequence[ModelEvent]:
        """Take one line and return what it adds to the visible stream."""
        try:
            line = _decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._skip_unread("sent a line that is not a piece of a chat")
        if line.error is not None:
            told = mask(line.error, secret=self._settings.api_key)
            raise self._broken(f"reported an error inside the stream: {told}")
        if line.model:
            self._model = line.model
        events = self._take(line.message) if line.message is not None else []
        if line.logprobs:
            events = list(self._with_logprobs(events, read_tokens(line.logprobs)))
        if line.done:
            self._last, self.done = line, True
            events += self._close_run()
        return events

    def _take(self, message: _Message) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        if message.thinking:
            events += self._more(message.thinking, thought=True)
        if message.content:
            events += self._more(message.content, thought=False)
        for call in message.tool_calls or ():
            events += self._close_run()
            arguments = msgspec.json.encode(call.function.arguments or {}).decode()
            call_id = call.id or self._make_id("call")
            events.append(self._add_call(ToolCallPart(call_id, call.function.name, arguments)))
        return events

    def _stop_reason(self) -> StopReason:
        return "length" if self._last.done_reason == "length" else "end"

    def _parts(self) -> Iterable[Part]:
        return self._made

    def _thoughts_go_back(self) -> bool:
        # Only a tool's result makes the model continue from where it thought.
        return self._calls > 0

    def _measure(self, parts: tuple[Part, ...]) -> Usage:
        # The server omits a count if it is zero, or if the prompt came from its cache.
        guess = self._guess(self._written)
        read, wrote = self._last.prompt_eval_count, self._last.eval_count
        return Usage(
            tokens_in=guess.tokens_in if read is None else counted(read),
            tokens_out=guess.tokens_out if wrote is None else counted(wrote),
        )
