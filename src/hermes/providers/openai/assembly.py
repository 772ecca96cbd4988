"""The chunks of a streamed chat completion put together again: pure, no sockets.

Text and reasoning leave as they come; tool calls are collected from their pieces, and the end is
told only after the service said why it stopped.
"""

import msgspec

from hermes.errors import ProviderError, ProviderUnavailable, StreamTruncated
from hermes.message.ids import MakeId
from hermes.message.parts import Part, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.provider import CallEnd, ReasoningDelta, StopReason, TextDelta
from hermes.providers.openai.failures import mask, words_of
from hermes.providers.openai.settings import OpenAISettings

DONE = b"[DONE]"
_CHARS_PER_TOKEN = 4
_STOP_REASONS: dict[str, StopReason] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refusal",
}

_MOST_TOKENS = 1_000_000_000
_COST_DIGITS = 9


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _CallPiece(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[_CallPiece] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _InDetails(msgspec.Struct):
    cached_tokens: int | None = None


class _OutDetails(msgspec.Struct):
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _InDetails | None = None
    completion_tokens_details: _OutDetails | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    model: str | None = None
    error: msgspec.Raw = msgspec.Raw()


class _Call:
    """A tool call whose pieces are still arriving."""

    __slots__ = ("arguments", "id", "name")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []


_decode = msgspec.json.Decoder(_Chunk).decode


class Assembly:
    """One call's answer in the making; `sent_chars` is the size of what was asked."""

    def __init__(self, settings: OpenAISettings, *, sent_chars: int, make_id: MakeId) -> None:
        self._settings = settings
        self._sent_chars = sent_chars
        self._make_id = make_id
        self._text: list[str] = []
        self._reasoned = 0
        self._calls: dict[int, _Call] = {}
        self._usage: _Usage | None = None
        self._model = settings.model
        self._finish: str | None = None
        self._refused = False
        self.done = False

    @property
    def ended(self) -> bool:
        """Whether the service has said that the answer is whole."""
        return self.done or self._finish is not None

    @property
    def started(self) -> bool:
        """Whether anything of the answer has arrived."""
        return bool(self._text or self._calls or self._reasoned)

    def feed(self, payload: bytes) -> TextDelta | ReasoningDelta | None:
        """Take one event's payload and return what it adds to the visible stream."""
        if payload == DONE:
            self.done = True
            return None
        try:
            chunk = _decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._broken("sent something that is no chat-completion chunk") from error
        if chunk.error and bytes(chunk.error) != b"null":
            said = words_of(b'{"error":' + bytes(chunk.error) + b"}")
            told = mask(said, secret=self._settings.api_key)
            raise self._broken(f"reported an error inside the stream: {told}")
        if chunk.usage is not None:
            self._usage = chunk.usage
        if chunk.model:
            self._model = chunk.model
        if not chunk.choices:
            return None
        choice = chunk.choices[0]
        if choice.finish_reason is not None:
            self._finish = choice.finish_reason
        return self._delta(choice.delta) if choice.delta is not None else None

    def end(self) -> CallEnd:
        """Return the whole answer; raise `StreamTruncated` when its end was never announced."""
        if not self.ended:
            raise StreamTruncated(
                f"{self._settings.name}: the stream of {self._model} ended without its end marker;"
                " the answer is not whole"
            )
        text = "".join(self._text)
        calls = self._finished_calls()
        parts: tuple[Part, ...] = ((TextPart(text),) if text else ()) + calls
        return CallEnd(parts, self._stop_reason(calls), self._measure(text, calls), self._model)

    def _delta(self, delta: _Delta) -> TextDelta | ReasoningDelta | None:
        if delta.tool_calls:
            for piece in delta.tool_calls:
                self._add(piece)
        text = delta.content
        if delta.refusal:
            self._refused = True
            text = (text or "") + delta.refusal
        if text:
            self._text.append(text)
            return TextDelta(text)
        reasoning = delta.reasoning_content or delta.reasoning
        if reasoning:
            self._reasoned += len(reasoning)
            return ReasoningDelta(reasoning)
        return None

    def _add(self, piece: _CallPiece) -> None:
        index = piece.index
        if index is None:
            # Servers without an index send each call whole; a piece with an id begins a new one.
            index = len(self._calls) if piece.id or not self._calls else len(self._calls) - 1
        call = self._calls.get(index)
        if call is None:
            call = self._calls[index] = _Call()
        if piece.id:
            call.id = piece.id
        function = piece.function
        if function is not None:
            call.name += function.name or ""
            if function.arguments:
                call.arguments.append(function.arguments)

    def _finished_calls(self) -> tuple[ToolCallPart, ...]:
        found = tuple(
            ToolCallPart(
                call.id or self._make_id("call"), call.name, "".join(call.arguments) or "{}"
            )
            for _, call in sorted(self._calls.items())
        )
        if self._finish == "length":
            return tuple(call for call in found if _is_json(call.arguments))
        return found

    def _stop_reason(self, calls: tuple[ToolCallPart, ...]) -> StopReason:
        reason = _STOP_REASONS.get(self._finish or "stop", "end")
        if reason == "end" and calls:
            return "tool_calls"
        if reason == "end" and self._refused:
            return "refusal"
        return reason

    def _measure(self, text: str, calls: tuple[ToolCallPart, ...]) -> Usage:
        usage = self._usage
        if usage is None:
            # A server that counts nothing must not make budgets believe that nothing was used.
            written = len(text) + self._reasoned + sum(len(call.arguments) for call in calls)
            return self._priced(
                tokens_in=_estimate(self._sent_chars), tokens_out=_estimate(written)
            )
        details_in, details_out = usage.prompt_tokens_details, usage.completion_tokens_details
        return self._priced(
            tokens_in=_count(usage.prompt_tokens),
            tokens_out=_count(usage.completion_tokens),
            cached_in=_count(details_in.cached_tokens if details_in else None),
            reasoning_out=_count(details_out.reasoning_tokens if details_out else None),
        )

    def _priced(
        self, *, tokens_in: int, tokens_out: int, cached_in: int = 0, reasoning_out: int = 0
    ) -> Usage:
        rates = self._settings
        cached_rate = rates.price_cached_per_million
        if cached_rate is None:
            cached_rate = rates.price_in_per_million
        cost = (
            (tokens_in - cached_in) * rates.price_in_per_million
            + cached_in * cached_rate
            + tokens_out * rates.price_out_per_million
        ) / 1_000_000
        return Usage(tokens_in, tokens_out, cached_in, reasoning_out, round(cost, _COST_DIGITS))

    def _broken(self, what: str) -> ProviderError:
        text = f"{self._settings.name}: the service {what}; the answer is not whole"
        return StreamTruncated(text) if self.started else ProviderUnavailable(text)


def _count(told: int | None) -> int:
    """Return a service's count within reason: what it tells ends up in ledgers."""
    return max(0, min(told or 0, _MOST_TOKENS))


def _estimate(chars: int) -> int:
    return -(-chars // _CHARS_PER_TOKEN)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True
