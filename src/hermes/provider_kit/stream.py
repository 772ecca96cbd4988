"""One streamed model call over the one HTTP client: opens, reads, ends it and translates failures.

It sits between the client and the providers and knows no dialect: the parser turns bytes into
payloads, and the assembly interprets payloads. The caller sets time limits on output.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, Protocol

import msgspec

from hermes.errors import (
    AnswerLost,
    AnswerTooLarge,
    NetError,
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    StreamTruncated,
)
from hermes.net.client import NO_LIMIT, HttpClient, Response
from hermes.ports.provider import CallEnd, ModelEvent
from hermes.provider_kit.echo import without_echo
from hermes.provider_kit.service_failure import MAX_ERROR_BYTES, failure, unusable

EVENTS: Final = ("text/event-stream",)
JSON: Final = ("application/json",)
_LINGER_S = 0.1
_LARGE_BYTES: Final = 262_144
# Content types of servers that do not set the right one; the body decides.
_SAYS_NOTHING = frozenset({"", "text/plain", "application/octet-stream"})
# No encoding is requested; the client decodes these nevertheless.
_CODINGS = frozenset({"", "identity", "gzip", "deflate"})


class AnswerAssembly(Protocol):
    """The answer of one call under construction."""

    @property
    def done(self) -> bool:
        """Whether nothing more has to be read."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the service has said that the answer is complete."""
        ...

    @property
    def started(self) -> bool:
        """Whether anything of the answer has arrived."""
        ...

    def feed(self, payload: bytes) -> Sequence[ModelEvent]:
        """Take one payload and return what it adds."""
        ...

    def feed_last(self, payload: bytes) -> Sequence[ModelEvent]:
        """Take the payload in which the stream ended, so that part of it may be missing."""
        ...

    def end(self) -> CallEnd:
        """Return the complete answer; raise `StreamTruncated` if its end was never announced."""
        ...


class PayloadParser(Protocol):
    """Splits the bytes of an answer into payloads."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take more bytes and return the payloads they complete."""
        ...

    def finish(self) -> list[bytes]:
        """Return what is left after the last byte."""
        ...


class FailureReader(Protocol):
    """Translates an answer other than 200 into an error."""

    def __call__(
        self,
        name: str,
        status: int,
        *,
        headers: Mapping[str, str],
        body: bytes,
        secret: str | None,
        absent: str = "",
    ) -> ProviderError:
        """Return the error for the answer."""
        ...


class ModelEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a provider's calls go; `secret` never appears in an error.

    `kinds` are the content types that an answer may have, and `absent` is the advice for a 404.
    `end_wait_s` is how long to wait for more after the answer has ended, if only the end of the
    connection shows that nothing more comes.
    """

    provider: str
    url: str
    headers: Mapping[str, str]
    secret: str | None = None
    kinds: tuple[str, ...] = EVENTS
    absent: str = ""
    failure: FailureReader = failure
    end_wait_s: float | None = None


Prepare = Callable[[], Awaitable[tuple[ModelEndpoint, bytes, AnswerAssembly]]]


async def stream_model(
    client: HttpClient, *, prepare: Prepare, parser: PayloadParser
) -> AsyncGenerator[ModelEvent, None]:
    """Run one call; `prepare` gives its endpoint, body and assembly; closing the iterator cancels it."""
    endpoint, body, assembly = await prepare()
    async with open_call(client, endpoint, body=body) as response:
        more = True
        while more and not assembly.done:
            payloads, more = await _read(response, parser, assembly=assembly, endpoint=endpoint)
            feed = assembly.feed if more else assembly.feed_last
            for payload in payloads:
                for event in feed(payload):
                    yield event
        yield assembly.end()
        if more:
            await _linger(response)


async def call_json(
    client: HttpClient, endpoint: ModelEndpoint, *, body: bytes, timeout_s: float, limit: int
) -> bytes:
    """Post `body` and return the complete answer; anything but 200 raises a `ProviderError`."""
    try:
        async with asyncio.timeout(timeout_s), open_call(client, endpoint, body=body) as response:
            return await response.read(limit)
    except TimeoutError:
        raise ProviderTimeout(
            f"{endpoint.provider}: the service did not send a complete answer within "
            f"{timeout_s:g} s"
        ) from None


@asynccontextmanager
async def open_call(
    client: HttpClient, endpoint: ModelEndpoint, *, body: bytes
) -> AsyncIterator[Response]:
    """Post `body` and return the answer, a 200 of the endpoint's kinds; raise an error for all
    others."""
    try:
        async with client.request(
            f"provider.{endpoint.provider}",
            "POST",
            endpoint.url,
            headers=endpoint.headers,
            body=body,
            timeout_s=NO_LIMIT,
            trusted=True,
        ) as response:
            if response.status != 200:
                raise await _refusal(response, endpoint)
            found = _strange(response.headers, endpoint.kinds)
            if found is not None:
                raise await _stranger(response, endpoint, found=found)
            yield response
    except NetError as error:
        was_sent = isinstance(error, AnswerLost | AnswerTooLarge)
        words = wire_words(endpoint.provider, error)
        raise ProviderUnavailable(words, was_sent=was_sent) from error
    except ProviderError as error:
        # Including errors raised inside, about an error in the middle of an answer.
        ours = (endpoint.provider, endpoint.url)
        mask = partial(without_echo, str(error), body, headers=endpoint.headers, names=ours)
        # A large request takes seconds to parse, so this is not done on the event loop's thread.
        error.args = (await asyncio.to_thread(mask) if len(body) > _LARGE_BYTES else mask(),)
        raise


def wire_words(provider: str, error: NetError) -> str:
    """Return the text of a wire failure, with the provider's name before it."""
    return f"{provider}: {str(error).removeprefix(f'provider.{provider}: ')}"


async def probe(
    client: HttpClient, endpoint: ModelEndpoint, *, timeout_s: float, limit: int
) -> bytes | None:
    """Get the endpoint's address and return the body of a 200, or None."""
    try:
        async with client.request(
            f"provider.{endpoint.provider}.probe",
            "GET",
            endpoint.url,
            headers=endpoint.headers,
            timeout_s=timeout_s,
            trusted=True,
        ) as response:
            return await response.read(limit) if response.status == 200 else None
    except NetError:
        return None


async def _refusal(response: Response, endpoint: ModelEndpoint) -> ProviderError:
    return endpoint.failure(
        endpoint.provider,
        response.status,
        headers=response.headers,
        body=await _error_body(response),
        secret=endpoint.secret,
        absent=endpoint.absent,
    )


def _strange(headers: Mapping[str, str], kinds: tuple[str, ...]) -> str | None:
    """Return why the head of a 200 announces an unreadable body, or None."""
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind not in kinds and kind not in _SAYS_NOTHING:
        return kind
    coding = headers.get("Content-Encoding", "").strip().lower()
    return None if coding in _CODINGS else f"the content encoding {coding}"


async def _stranger(response: Response, endpoint: ModelEndpoint, *, found: str) -> ProviderError:
    """Return the error for a 200 of another content type, from its JSON if it has any."""
    return unusable(
        endpoint.provider,
        await _error_body(response) if "json" in found else b"",
        found=found,
        expected=endpoint.kinds[0],
        secret=endpoint.secret,
    )


async def _error_body(response: Response) -> bytes:
    """Return the body of a failure; if it is cut off or too large, the status remains."""
    try:
        return await response.read(MAX_ERROR_BYTES)
    except NetError:
        return b""


async def _read(
    response: Response, parser: PayloadParser, *, assembly: AnswerAssembly, endpoint: ModelEndpoint
) -> tuple[list[bytes], bool]:
    """Return the next payloads and whether more may come.

    What is late or lost after the announced end is not needed.
    """
    try:
        if endpoint.end_wait_s is None or not assembly.ended:
            chunk = await response.read_some()
        else:
            async with asyncio.timeout(endpoint.end_wait_s):
                chunk = await response.read_some()
        return (parser.feed(chunk), True) if chunk else (parser.finish(), False)
    except TimeoutError:
        return [], False
    except NetError as error:
        if assembly.ended:
            return [], False
        if assembly.started:
            words = wire_words(endpoint.provider, error)
            raise StreamTruncated(f"{words}; the answer is not whole") from error
        raise


async def _linger(response: Response) -> None:
    """Wait briefly for the end of the body, so that the connection can be reused."""
    if response.complete:
        return
    try:
        async with asyncio.timeout(_LINGER_S):
            while await response.read_some():
                pass
    except (TimeoutError, NetError):
        return  # the service keeps the stream open or cut it: leaving the call closes it
