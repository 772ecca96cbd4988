"""Makes one call of an SDK and records it: whole or streamed, in a thread or in an event loop.

A stream is recorded when it ends. If the caller leaves it early, or it breaks off, the part that
arrived is recorded as an answer that does not count as sampled.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from inspect import isawaitable
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec

from hermes.graph.blob import Message
from hermes.graph.open_call import OpenCall

# Any: an SDK's values, of which each dialect knows the fields that it reads.
INTERRUPTED = "interrupted"
# What a service is given for a server that it calls as a tool, and no model sees.
_SECRET = frozenset({
    "access_token", "api_key", "apikey", "authorization", "authorization_token", "extra_body",
    "extra_headers", "extra_query", "headers", "password", "query_params", "secret", "token",
})  # fmt: skip
_USER_OF_URL = re.compile(r"(?<=://)[^/?#\s]*@")
# A text that is only an address: its query often has a key. A model sees addresses inside sentences.
_QUERY_OF_URL = re.compile(r"\A(\s*[a-z][a-z0-9+.-]*://[^?#\s]*)[?#]\S*\s*\Z", re.IGNORECASE)


class ReadAnswer(msgspec.Struct, kw_only=True):
    """What an SDK's response says; `others` are further answers of the same request."""

    message: Message
    model: str = ""
    usage: dict[str, Any] = {}
    stop_reason: str = ""
    logprobs: list[float] | None = None
    others: list[Message] = []


class StreamReader(Protocol):
    """Puts the events of one stream together."""

    @property
    def is_whole(self) -> bool:
        """Whether the stream said that the answer has ended."""

    def take(self, event: dict[str, Any]) -> None:
        """Take one event, as plain data."""

    def answer(self) -> ReadAnswer | None:
        """Return what arrived so far; None if nothing did."""


class SdkCall(msgspec.Struct):
    """A call under way, and how its response is read."""

    call: OpenCall
    read: Callable[[dict[str, Any]], ReadAnswer]
    reader: StreamReader
    more: Callable[[OpenCall, list[Message]], None]
    is_streamed: bool

    def run(self, create: Callable[..., Any], options: dict[str, Any]) -> Any:
        """Make the call; return what the SDK returns, or a stream that records itself."""
        try:
            result = create(**options)
        except BaseException as problem:  # boundary: the call is recorded, the error goes on
            self.call.fail(type(problem))
            raise
        return self._later(result) if isawaitable(result) else self._taken(result)

    async def _later(self, result: Awaitable[Any]) -> Any:
        try:
            response = await result
        except BaseException as problem:  # boundary: the call is recorded, the error goes on
            self.call.fail(type(problem))
            raise
        return self._taken(response)

    def _taken(self, response: Any) -> Any:
        if self.is_streamed:
            return RecordedStream(response, self)
        self.record(self.read(plain(response)), is_whole=True)
        return response

    def record(self, found: ReadAnswer, *, is_whole: bool) -> None:
        """Record what was answered."""
        self.call.answer(
            found.message,
            model=found.model,
            usage=found.usage,
            stop_reason=found.stop_reason if is_whole else INTERRUPTED,
            logprobs=found.logprobs,
            sampled=is_whole,
        )
        self.call.finish()
        self.more(self.call, found.others)


class RecordedStream:
    """A stream of an SDK that records its call when it ends; everything else is the SDK's."""

    def __init__(self, stream: Any, recorded: SdkCall) -> None:
        self._stream = stream
        self._recorded = recorded
        self._is_settled = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return self._seen(next(self._stream))
        except BaseException as problem:  # boundary: what arrived is recorded, the error goes on
            self._settle(type(problem))
            raise

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            return self._seen(await anext(self._stream))
        except BaseException as problem:  # boundary: what arrived is recorded, the error goes on
            self._settle(type(problem))
            raise

    def close(self) -> Any:
        """Close the stream; what arrived so far is recorded."""
        self._settle(GeneratorExit)
        return self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._settle(kind or GeneratorExit)
        self._stream.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._settle(kind or GeneratorExit)
        await self._stream.close()

    def _seen(self, event: Any) -> Any:
        self._recorded.reader.take(plain(event))
        return event

    def _settle(self, kind: type[BaseException]) -> None:
        if self._is_settled:
            return
        self._is_settled = True
        reader = self._recorded.reader
        found = reader.answer()
        if found is None:
            self._recorded.call.fail(kind)
        else:
            self._recorded.record(found, is_whole=reader.is_whole)


def plain(value: Any) -> Any:
    """Return an SDK's value as plain data, without keys that are None in its objects."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def chosen(options: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Return those options of a request that shape the answer; the SDK's own marks are left out."""
    found = {name: plain(options[name]) for name in sorted(names & options.keys())}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, str | int | float | dict | list)
    }


def without_secrets(tool: Any) -> Any:
    """Return a tool as it is recorded: one that is no function without keys to what it calls."""
    if isinstance(tool, dict) and (tool.get("type") == "function" or "function" in tool):
        return tool
    return _cleaned(tool)


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: one for key, one in value.items() if str(key).lower() not in _SECRET}
        return {key: _cleaned(one) for key, one in kept.items()}
    if isinstance(value, list):
        return [_cleaned(one) for one in value]
    return _cleaned_text(value) if isinstance(value, str) else value


def _cleaned_text(text: str) -> str:
    return _QUERY_OF_URL.sub(r"\1", _USER_OF_URL.sub("", text))
