"""`HttpClient`: the one way in which Hermes calls others over HTTP.

It sits under channels, providers and the media cache; it keeps connections, applies time limits,
guards untrusted addresses and translates every failure into `hermes.errors`. It knows nothing
of what a call means: retries, breakers and keys belong to its callers.
"""

import asyncio
import math
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from functools import lru_cache
from types import TracebackType
from typing import Final

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver
from yarl import URL

from hermes import failpoints
from hermes.errors import (
    AddressRefused,
    AnswerLost,
    AnswerTooLarge,
    ConnectFailed,
    NetError,
    TlsFailed,
)
from hermes.net.guard import Guard, GuardedResolver

NO_LIMIT: Final = math.inf
MAX_REDIRECTS: Final = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SECRET_HEADERS = frozenset(
    {"api-key", "authorization", "cookie", "proxy-authorization", "x-api-key", "x-goog-api-key"}
)
_NO_AUTO_HEADERS = ("Accept-Encoding", "User-Agent")
_WIRE_ERRORS = (aiohttp.ClientError, TimeoutError, OSError)


class HttpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How calls are made; `exempt` are networks that untrusted fetches may reach all the same."""

    connect_timeout_s: float = 10.0
    timeout_s: float = 10.0
    keepalive_s: float = 15.0
    proxy: str | None = None
    ipv4_only: bool = False
    exempt: tuple[str, ...] = ()
    user_agent: str = "hermes-gateway"


class Response:
    """An answer whose head has arrived; its body is read by exactly one of the methods."""

    __slots__ = ("_inner", "_name", "headers", "status")

    def __init__(self, name: str, inner: aiohttp.ClientResponse) -> None:
        self._name = name
        self._inner = inner
        self.status: int = inner.status
        self.headers: Mapping[str, str] = inner.headers

    @property
    def complete(self) -> bool:
        """Whether the body has arrived whole."""
        return self._inner.content.at_eof()

    async def read(self, limit: int) -> bytes:
        """Return the whole body; raise `AnswerTooLarge` past `limit` bytes."""
        pieces: list[bytes] = []
        size = 0
        while piece := await self.read_some():
            size += len(piece)
            if size > limit:
                raise AnswerTooLarge(
                    f"{self._name}: the answer of {self._inner.url.host} exceeds {limit} bytes"
                )
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def read_some(self) -> bytes:
        """Return what has arrived, waiting for at least one byte; empty at the end."""
        try:
            return await self._inner.content.readany()
        except _WIRE_ERRORS as error:
            raise _translate(error, name=self._name, url=self._inner.url) from error

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives."""
        while piece := await self.read_some():
            yield piece

    async def lines(self, limit: int = 1_048_576) -> AsyncIterator[bytes]:
        """Yield the body's lines without their ends; no line may exceed `limit` bytes."""
        rest = b""
        while piece := await self.read_some():
            whole = (rest + piece).split(b"\n")
            rest = whole.pop()
            if len(rest) > limit:
                raise AnswerTooLarge(f"{self._name}: a line of the answer exceeds {limit} bytes")
            for line in whole:
                yield line.removesuffix(b"\r")
        if rest:
            yield rest


class _Call:
    """One request as an async context manager; a class, because it is on every hot path."""

    __slots__ = (
        "_body",
        "_client",
        "_headers",
        "_method",
        "_name",
        "_response",
        "_timeout_s",
        "_trusted",
        "_unwatch",
        "_url",
    )

    def __init__(  # noqa: PLR0917 - internal, built in one place below
        self,
        client: "HttpClient",
        name: str,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        timeout_s: float,
        trusted: bool,
    ) -> None:
        self._client = client
        self._name = name
        self._method = method
        self._url = url
        self._headers = headers
        self._body = body
        self._timeout_s = timeout_s
        self._trusted = trusted
        self._response: aiohttp.ClientResponse | None = None
        self._unwatch = _nothing

    async def __aenter__(self) -> Response:
        failpoints.hit(f"wire.{self._name}.before")
        answer: aiohttp.ClientResponse | None = None
        try:
            if self._trusted:
                answer = await self._send(self._method, URL(self._url), headers=self._headers)
            else:
                answer = await self._follow()
        finally:
            if answer is None:
                failpoints.hit(f"wire.{self._name}.after")
        self._response = answer
        self._unwatch = _watch(answer)
        return Response(self._name, answer)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._response is not None:
            # A connection whose answer was read whole is back in the pool already.
            self._response.close()
            self._unwatch()
        failpoints.hit(f"wire.{self._name}.after")

    async def _send(
        self, method: str, url: URL, *, headers: Mapping[str, str]
    ) -> aiohttp.ClientResponse:
        client = self._client
        session = client.session(trusted=self._trusted)
        try:
            return await session.request(
                method,
                url,
                headers=headers,
                data=self._body,
                allow_redirects=False,
                timeout=_timeout(self._timeout_s, client.settings.connect_timeout_s),
                # A proxy connects by itself, so nobody could check the address it picks.
                proxy=client.settings.proxy if self._trusted else None,
            )
        except _WIRE_ERRORS as error:
            raise _translate(error, name=self._name, url=url) from error

    async def _follow(self) -> aiohttp.ClientResponse:
        method, url, headers = self._method, URL(self._url), dict(self._headers)
        self._client.guard.check_url(url)
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._send(method, url, headers=headers)
            target = answer.headers.get("Location")
            if answer.status not in _REDIRECTS or target is None:
                return answer
            answer.close()
            following = _join(url, target)
            self._client.guard.check_url(following)
            if following.origin() != url.origin():
                headers = {k: v for k, v in headers.items() if k.lower() not in _SECRET_HEADERS}
            if answer.status not in {307, 308} and method != "HEAD":
                method, self._body = "GET", None
            url = following
        raise AddressRefused(
            f"{self._name}: {url.host} redirects more than {MAX_REDIRECTS} times; nothing was read"
        )


class HttpClient:
    """The outbound client of the whole process; made anywhere, used inside one running loop."""

    def __init__(
        self,
        settings: HttpSettings,
        *,
        ssl_context: ssl.SSLContext | None = None,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self.settings = settings
        self.guard = Guard(settings.exempt)
        self._ssl_context = ssl_context
        self._resolver = resolver
        self._trusted: aiohttp.ClientSession | None = None
        self._guarded: aiohttp.ClientSession | None = None

    def request(
        self,
        name: str,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float | None = None,
        trusted: bool,
    ) -> _Call:
        """Call `url`; `async with` gives the `Response`, and leaving it ends the call.

        `name` names the failpoints `wire.{name}.before` and `.after` and stands in error texts.
        `timeout_s` limits the whole call, body included: None takes the setting, `NO_LIMIT` leaves
        it to the caller. `trusted` addresses come from the operator's configuration: they skip the
        guard and never follow a redirect. All others are guarded at every hop.
        """
        limit = self.settings.timeout_s if timeout_s is None else timeout_s
        return _Call(self, name, method, url, headers or {}, body, limit, trusted)

    def session(self, *, trusted: bool) -> aiohttp.ClientSession:
        """Return the session for this kind of address; connections are never shared between."""
        known = self._trusted if trusted else self._guarded
        if known is not None:
            return known
        resolver = self._resolver
        if not trusted:
            resolver = GuardedResolver(self.guard, resolver or aiohttp.ThreadedResolver())
        made = aiohttp.ClientSession(
            connector=self._connector(resolver, trusted=trusted),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_NO_AUTO_HEADERS,
            headers={"User-Agent": self.settings.user_agent},
        )
        if trusted:
            self._trusted = made
        else:
            self._guarded = made
        return made

    def _connector(
        self, resolver: AbstractResolver | None, *, trusted: bool
    ) -> aiohttp.TCPConnector:
        family = socket.AF_INET if self.settings.ipv4_only else socket.AF_UNSPEC
        return aiohttp.TCPConnector(
            limit=0,
            family=family,
            resolver=resolver,
            use_dns_cache=trusted,
            keepalive_timeout=self.settings.keepalive_s,
            ssl=self._ssl_context if self._ssl_context is not None else True,
        )

    async def close(self) -> None:
        """Close every connection."""
        for session in (self._trusted, self._guarded):
            if session is not None:
                await session.close()
        self._trusted = self._guarded = None


@lru_cache(maxsize=64)
def _timeout(total_s: float, connect_s: float) -> aiohttp.ClientTimeout:
    """Return limits under which running out of `connect` always comes before `total`.

    So a call that ran out of its total time had certainly been sent.
    """
    if total_s == NO_LIMIT:
        return aiohttp.ClientTimeout(total=None, connect=connect_s)
    return aiohttp.ClientTimeout(total=total_s, connect=min(connect_s, total_s * 0.9))


def _watch(answer: aiohttp.ClientResponse) -> Callable[[], None]:
    """Make a closed connection end the body; return what takes the watch off again.

    A chunk that is none makes aiohttp close the connection and forget the body, whose reader would
    wait for ever.
    """
    protocol = None if answer.connection is None else answer.connection.protocol
    closed = None if protocol is None else protocol.closed
    if closed is None:
        return _nothing

    def tell(_closed: "asyncio.Future[None]") -> None:
        content = answer.content
        if not content.is_eof() and content.exception() is None:
            content.set_exception(aiohttp.ClientPayloadError("the connection was closed"))

    # Looked at once for each connection, however many calls it serves.
    closed.remove_done_callback(_look_at)
    closed.add_done_callback(_look_at)
    closed.add_done_callback(tell)

    def take_off() -> None:
        closed.remove_done_callback(tell)

    return take_off


def _look_at(closed: "asyncio.Future[None]") -> None:
    """Take note of why a connection was closed, which would be logged as never looked at."""
    if not closed.cancelled():
        closed.exception()


def _nothing() -> None:
    """Take nothing off."""


def _join(url: URL, target: str) -> URL:
    try:
        return url.join(URL(target))
    except ValueError as error:
        raise AddressRefused(
            f"{url.host} redirects to something that is no address; nothing was read"
        ) from error


def _translate(error: Exception, *, name: str, url: URL) -> NetError:
    """Return what `error` means for the caller, without path, query or credentials."""
    host = url.host or "an address without host"
    if isinstance(error, aiohttp.ClientSSLError | aiohttp.ServerFingerprintMismatch):
        return TlsFailed(
            f"{name}: {host} did not prove its identity by TLS ({_tls_reason(error)}); nothing was"
            " sent. Check the address, its certificate and the CA bundle"
        )
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return AddressRefused(f"{name}: {host} is no http(s) address; nothing was sent")
    if isinstance(
        error,
        aiohttp.ClientConnectorError
        | aiohttp.ConnectionTimeoutError
        | aiohttp.ClientHttpProxyError,
    ):
        return ConnectFailed(
            f"{name}: cannot connect to {host} ({_connect_reason(error)}); nothing was sent. Check"
            " that the address is right and the service is up"
        )
    if isinstance(error, TimeoutError):
        return AnswerLost(
            f"{name}: the request to {host} was sent, its answer did not come in time"
        )
    return AnswerLost(f"{name}: the request to {host} was sent, its answer was cut off")


def _tls_reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        inner = error.certificate_error
        return getattr(inner, "verify_message", None) or "bad certificate"
    return "handshake failed"


def _connect_reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return "no connection in time"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered {error.status}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "the name is not known"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return "no connection"
