"""`ScriptedProvider`: the in-process twin of the provider port; it answers by script.

It fits `hermes.ports.provider.Provider` and behaves like the real ones at the edges: one `CallEnd`,
translated errors, prompt cancellation. Tests read from `calls` what a model was asked, and how
often.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

import msgspec

from hermes.errors import PromptTooLong, ProviderRejected, ProviderUnavailable, StreamTruncated
from hermes.message.parts import Part, TextPart, ToolCallPart, ToolResultPart
from hermes.message.reply import Usage
from hermes.ports.provider import (
    CallEnd,
    ModelEvent,
    ModelRequest,
    ProviderInfo,
    ReasoningDelta,
    StopReason,
    TextDelta,
)
from hermes.testing.model_script import (
    Script,
    ScriptedTurn,
    SeenConversation,
    answer_by_text,
    in_order,
)

Sleep = Callable[[float], Awaitable[None]]

SCRIPTED_INFO = ProviderInfo(
    name="scripted",
    model="scripted-1",
    tools=True,
    vision=True,
    context_tokens=128_000,
)


class Invocation(msgspec.Struct, frozen=True):
    """One call that the model received, counted from 1."""

    number: int
    request: ModelRequest


class ScriptedProvider:
    """A model that answers by `script`: turns in order, a callable, or the directives in
    the text.

    If `holds` is given, a longer prompt is refused, at four characters to a token; with
    `counts_output` the output limit counts, too.
    """

    def __init__(
        self,
        script: Script | Sequence[ScriptedTurn] = answer_by_text,
        *,
        info: ProviderInfo = SCRIPTED_INFO,
        sleep: Sleep = asyncio.sleep,
        holds: int | None = None,
        counts_output: bool = False,
    ) -> None:
        self._script = script if callable(script) else in_order(script)
        self._info = info
        self._sleep = sleep
        self._holds = holds
        self._counts_output = counts_output
        self.calls: list[Invocation] = []
        self.ended = 0
        self.cancelled = 0
        self.is_available = True
        self.closed = False

    @property
    def info(self) -> ProviderInfo:
        return self._info

    async def available(self) -> bool:
        return self.is_available

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        number = len(self.calls) + 1
        self.calls.append(Invocation(number, request))
        self._check_length(request)
        turn = self._script(seen_in(request), number)
        try:
            if turn.delay_s:
                await self._sleep(turn.delay_s)
            async with aclosing(self._answer(turn, number)) as events:
                async for event in events:
                    yield event
        except (GeneratorExit, asyncio.CancelledError):
            self.cancelled += 1
            raise

    async def close(self) -> None:
        self.closed = True

    def _check_length(self, request: ModelRequest) -> None:
        output = (request.max_output_tokens or 0) if self._counts_output else 0
        sent = chars_of_request(request) // 4 + output
        if self._holds is not None and sent > self._holds:
            raise PromptTooLong(
                f"scripted: {sent} tokens exceed the context of {self._holds}",
                status=400,
                counts_output=self._counts_output,
            )

    async def _answer(self, turn: ScriptedTurn, number: int) -> AsyncGenerator[ModelEvent, None]:
        if turn.fault == "status":
            raise _status_error(turn)
        if turn.reasoning:
            yield ReasoningDelta(turn.reasoning)
        pieces = turn.pieces if turn.fault is None else turn.pieces[: turn.after]
        for piece in pieces:
            yield TextDelta(piece)
            if turn.gap_s:
                await self._sleep(turn.gap_s)
        if turn.fault == "hang":
            await asyncio.Event().wait()
        if turn.fault == "cut" and not pieces:
            raise ProviderUnavailable(
                "scripted: the request was sent, its answer was cut off", was_sent=True
            )
        if turn.fault is not None:
            raise StreamTruncated("scripted: the stream ended without its end marker")
        self.ended += 1
        yield self._end(turn, number)

    def _end(self, turn: ScriptedTurn, number: int) -> CallEnd:
        calls = tuple(
            ToolCallPart(f"call_{number}_{index}", tool.name, tool.arguments)
            for index, tool in enumerate(turn.tools)
        )
        text: tuple[Part, ...] = (TextPart(turn.text),) if turn.text else ()
        reason: StopReason = "tool_calls" if calls else turn.stops or "end"
        usage = self._usage(turn, number)
        return CallEnd(text + calls, reason, usage, self._info.model, rest_s=turn.rest_s)

    def _usage(self, turn: ScriptedTurn, number: int) -> Usage:
        request = self.calls[number - 1].request
        tokens_in = turn.tokens_in if turn.tokens_in is not None else tokens_of_request(request)
        tokens_out = turn.tokens_out if turn.tokens_out is not None else max(1, len(turn.pieces))
        return Usage(tokens_in, tokens_out, turn.cached_in, turn.reasoning_out)


def seen_in(request: ModelRequest) -> SeenConversation:
    """Return what a script may use of `request`."""
    users = [message for message in request.messages if message.role == "user"]
    results: list[str] = []
    for message in reversed(request.messages):
        if message.role == "user":
            break
        results[:0] = [p.text for p in message.parts if isinstance(p, ToolResultPart)]
    return SeenConversation(len(users), users[-1].text if users else "", tuple(results))


def tokens_of_request(request: ModelRequest) -> int:
    """Return a count that grows with the request, as a tokenizer's would."""
    words = sum(len(message.text.split()) for message in request.messages)
    return max(1, words + sum(len(block.split()) for block in request.system))


def chars_of_request(request: ModelRequest) -> int:
    """Return how many characters a model has to read."""
    chars = sum(len(block) for block in request.system)
    chars += sum(len(bytes(tool.parameters)) + len(tool.description) for tool in request.tools)
    for message in request.messages:
        for part in message.parts:
            chars += len(getattr(part, "text", "")) + len(getattr(part, "arguments", ""))
    return chars


def _status_error(turn: ScriptedTurn) -> ProviderUnavailable | ProviderRejected:
    if turn.status == 429 or turn.status >= 500:
        return ProviderUnavailable(
            f"scripted: the service answered {turn.status}",
            retry_after=turn.retry_after,
            status=turn.status,
        )
    return ProviderRejected(
        f"scripted: the service refused the request with {turn.status}", status=turn.status
    )
