"""One streamed model call over the one HTTP client: opened, read, ended, failures translated.

It sits between the client and the providers and knows no dialect: how bytes become payloads is the
parser's business, and what payloads mean is the assembly's. Time limits on output are the caller's.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from hermes.errors import (
    AnswerTooLarge,
    NetError,
    ProviderError,
    ProviderUnavailable,
    StreamTruncated,
)
from hermes.net.client import NO_LIMIT, HttpClient, Response
from hermes.net.service_failure import MAX_ERROR_BYTES, failure
from hermes.ports.provider import CallEnd, ModelEvent

_LINGER_S = 0.1


class Assembling(Protocol):
    """One call's answer in the making."""

    @property
    def done(self) -> bool:
        """Whether nothing more has to be read."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the service has said that the answer is whole."""
        ...

    @property
    def started(self) -> bool:
        """Whether anything of the answer has arrived."""
        ...

    def feed(self, payload: bytes) -> Sequence[ModelEvent]:
        """Take one payload and return what it adds."""
        ...

    def end(self) -> CallEnd:
        """Return the whole answer; raise `StreamTruncated` when its end was never announced."""
        ...


class PayloadParser(Protocol):
    """Splits the bytes of an answer into payloads."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take more bytes and return the payloads they complete."""
        ...

    def finish(self) -> list[bytes]:
        """Return what is left when the bytes have ended."""
        ...


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a provider's calls go; `secret` never appears in an error."""

    provider: str
    url: str
    headers: Mapping[str, str]
    secret: str | None = None


Prepare = Callable[[], Awaitable[tuple[bytes, Assembling]]]


async def stream_model(
    client: HttpClient, endpoint: Endpoint, *, prepare: Prepare, parser: PayloadParser
) -> AsyncGenerator[ModelEvent, None]:
    """Run one call; `prepare` gives its body and its assembly; closing the iterator cancels it."""
    body, assembly = await prepare()
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
            more = True
            while more and not assembly.done:
                payloads, more = await _read(response, parser, assembly=assembly)
                for payload in payloads:
                    for event in assembly.feed(payload):
                        yield event
            yield assembly.end()
            await _linger(response)
    except NetError as error:
        raise ProviderUnavailable(str(error)) from error


async def call_json(
    client: HttpClient, endpoint: Endpoint, *, body: bytes, timeout_s: float, limit: int
) -> bytes:
    """Post `body` and return the whole answer; anything but 200 is raised as a `ProviderError`."""
    try:
        async with client.request(
            f"provider.{endpoint.provider}",
            "POST",
            endpoint.url,
            headers=endpoint.headers,
            body=body,
            timeout_s=timeout_s,
            trusted=True,
        ) as response:
            if response.status != 200:
                raise await _refusal(response, endpoint)
            return await response.read(limit)
    except NetError as error:
        raise ProviderUnavailable(str(error)) from error


async def probe(
    client: HttpClient, endpoint: Endpoint, *, timeout_s: float, limit: int
) -> bytes | None:
    """Get the endpoint's address and return what it answers with 200, or None."""
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


async def _refusal(response: Response, endpoint: Endpoint) -> ProviderError:
    try:
        body = await response.read(MAX_ERROR_BYTES)
    except AnswerTooLarge:
        body = b""
    return failure(
        endpoint.provider,
        response.status,
        headers=response.headers,
        body=body,
        secret=endpoint.secret,
    )


async def _read(
    response: Response, parser: PayloadParser, *, assembly: Assembling
) -> tuple[list[bytes], bool]:
    """Return the next payloads and whether more may come.

    What is lost behind the announced end is not missed.
    """
    try:
        chunk = await response.read_some()
        return (parser.feed(chunk), True) if chunk else (parser.finish(), False)
    except NetError as error:
        if assembly.ended:
            return [], False
        if assembly.started:
            raise StreamTruncated(f"{error}; the answer is not whole") from error
        raise


async def _linger(response: Response) -> None:
    """Wait shortly for the end of the body, so that the connection can be used again."""
    if response.complete:
        return
    try:
        async with asyncio.timeout(_LINGER_S):
            while await response.read_some():
                pass
    except (TimeoutError, NetError):
        return  # the service keeps the stream open or cut it: leaving the call closes it
