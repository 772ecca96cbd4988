"""One streamed model call over the one HTTP client: opens, reads, ends it and translates failures.

It sits between the client and the providers and knows no dialect: the parser turns bytes into
payloads, and the assembly interprets payloads. The caller sets time limits on output.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from hermes.errors import (
    AnswerLost,
    AnswerTooLarge,
    ConnectFailed,
    NetError,
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    StreamTruncated,
)
from hermes.net.client import NO_LIMIT, HttpClient
from hermes.net.retry_after import rest_after
from hermes.ports.provider import CallEnd, ModelEvent, ModelName
from hermes.provider_kit.echo import without_echo
from hermes.provider_kit.service_failure import MAX_ERROR_BYTES, failure, unusable

if TYPE_CHECKING:
    from hermes.net.calls import Response

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
    def model(self) -> str:
        """The model that answers, by the service's name for it."""
        ...

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
    asked: str | None = assembly.model
    async with _ModelPost(client, endpoint, body=body) as response:
        more = True
        while more and not assembly.done:
            payloads, more = await _read(response, parser, assembly=assembly, endpoint=endpoint)
            feed = assembly.feed if more else assembly.feed_last
            for payload in payloads:
                for event in feed(payload):
                    if asked is not None:
                        if assembly.model != asked:
                            yield ModelName(assembly.model)
                        asked = None
                    yield event
        end, rest_s = assembly.end(), rest_after(response.headers)
        yield msgspec.structs.replace(end, rest_s=rest_s) if rest_s else end
        if more:
            await _linger(response)


async def call_json(
    client: HttpClient, endpoint: ModelEndpoint, *, body: bytes, timeout_s: float, limit: int
) -> bytes:
    """Post `body` and return the complete answer; anything but 200 raises a `ProviderError`."""
    try:
        async with asyncio.timeout(timeout_s), _ModelPost(client, endpoint, body=body) as response:
            return await response.read(limit)
    except TimeoutError:
        raise ProviderTimeout(
            f"{endpoint.provider}: the service did not send a complete answer within "
            f"{timeout_s:g} s"
        ) from None


class _ModelPost:
    """`async with` posts a body and gives the answer, a 200 of the endpoint's kinds; all others are
    errors. A class, because it is on the path of every call.
    """

    __slots__ = ("_body", "_endpoint", "_request")

    def __init__(self, client: HttpClient, endpoint: ModelEndpoint, *, body: bytes) -> None:
        self._endpoint = endpoint
        self._body = body
        self._request = client.request(
            f"provider.{endpoint.provider}",
            "POST",
            endpoint.url,
            headers=endpoint.headers,
            body=body,
            timeout_s=NO_LIMIT,
            trusted=True,
        )

    async def __aenter__(self) -> "Response":
        try:
            response = await self._request.__aenter__()
        except NetError as error:
            raise self._unavailable(error) from error
        problem, is_usable = None, False
        try:
            problem = await self._problem_of(response)
            is_usable = problem is None
        finally:
            if not is_usable:
                await self.__aexit__(None, problem, None)
        if problem is not None:
            raise problem
        return response

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._request.__aexit__(kind, error, trace)
        if isinstance(error, NetError):
            raise self._unavailable(error) from error
        if isinstance(error, ProviderError):
            # Including errors raised inside, about an error in the middle of an answer.
            error.args = (await self._masked(str(error)),)
            error.named(self._uncredited(error.service_code), self._uncredited(error.param))

    def _unavailable(self, error: NetError) -> ProviderUnavailable:
        return ProviderUnavailable(
            wire_words(self._endpoint.provider, error),
            was_sent=isinstance(error, AnswerLost | AnswerTooLarge),
            is_unreached=isinstance(error, ConnectFailed),
        )

    async def _problem_of(self, response: "Response") -> ProviderError | None:
        if response.status != 200:
            return await _refusal(response, self._endpoint)
        found = _strange(response.headers, self._endpoint.kinds)
        return None if found is None else await _stranger(response, self._endpoint, found=found)

    def _uncredited(self, name: str | None) -> str | None:
        """Return a name that the service gave, unless it holds a credential."""
        if name is None:
            return None
        ours = (self._endpoint.provider, self._endpoint.url)
        kept = without_echo(name, b"", headers=self._endpoint.headers, names=ours)
        return name if kept == name else None

    async def _masked(self, text: str) -> str:
        """Return an error's text without what it repeats of the request."""
        endpoint, body = self._endpoint, self._body
        ours = (endpoint.provider, endpoint.url)
        mask = partial(without_echo, text, body, headers=endpoint.headers, names=ours)
        # A large request takes seconds to parse, so this is not done on the event loop's thread.
        return await asyncio.to_thread(mask) if len(body) > _LARGE_BYTES else mask()


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


async def _refusal(response: "Response", endpoint: ModelEndpoint) -> ProviderError:
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


async def _stranger(response: "Response", endpoint: ModelEndpoint, *, found: str) -> ProviderError:
    """Return the error for a 200 of another content type, from its JSON if it has any."""
    return unusable(
        endpoint.provider,
        await _error_body(response) if "json" in found else b"",
        found=found,
        expected=endpoint.kinds[0],
        secret=endpoint.secret,
    )


async def _error_body(response: "Response") -> bytes:
    """Return the body of a failure; if it is cut off or too large, the status remains."""
    try:
        return await response.read(MAX_ERROR_BYTES)
    except NetError:
        return b""


async def _read(
    response: "Response",
    parser: PayloadParser,
    *,
    assembly: AnswerAssembly,
    endpoint: ModelEndpoint,
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


async def _linger(response: "Response") -> None:
    """Wait briefly for the end of the body, so that the connection can be reused."""
    if response.complete:
        return
    try:
        async with asyncio.timeout(_LINGER_S):
            while await response.read_some():
                pass
    except (TimeoutError, NetError):
        return  # the service keeps the stream open or cut it: leaving the call closes it
