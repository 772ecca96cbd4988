"""Calls of the one HTTP client, over aiohttp: its sessions, its requests and their answers.

Only `HttpClient` makes these objects, and only with its first call: aiohttp takes 7 MB of memory and
a sixth of the time of a start.
"""

import asyncio
import io
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from functools import lru_cache, partial
from types import TracebackType
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from yarl import URL

from hermes import failpoints
from hermes.errors import AddressRefused, AnswerTooLarge, note_unsent
from hermes.net.client import NO_LIMIT, HttpSettings, MayAsk
from hermes.net.guard import Guard
from hermes.net.name_lookup import GuardedResolver, ThreadLookup
from hermes.net.open_files import FileShortage
from hermes.net.redirects import MAX_REDIRECTS, Hop, next_hop
from hermes.net.untrusted_url import read_url
from hermes.net.wire_failure import wire_failure

MAX_UNTRUSTED_CONNECTIONS: Final = 64
_NO_AUTO_HEADERS = ("Accept-Encoding", "User-Agent")
# A larger body, written at once, would block everything else meanwhile.
_WHOLE_BYTES: Final = 1 << 20
_WIRE_ERRORS = (aiohttp.ClientError, TimeoutError, OSError)


class Response:
    """An answer whose head has arrived; exactly one of the methods reads its body."""

    __slots__ = ("_inner", "_name", "headers", "status")

    def __init__(self, name: str, inner: aiohttp.ClientResponse) -> None:
        self._name = name
        self._inner = inner
        self.status: int = inner.status
        self.headers: Mapping[str, str] = inner.headers

    @property
    def url(self) -> str:
        """Where the answer came from, after every redirect."""
        return str(self._inner.url.with_user(None).with_fragment(None))

    @property
    def complete(self) -> bool:
        """Whether the body has arrived completely."""
        return self._inner.content.at_eof()

    async def read(self, limit: int) -> bytes:
        """Return the whole body; raise `AnswerTooLarge` past `limit` bytes."""
        pieces: list[bytes] = []
        size = 0
        while piece := await self.read_some():
            size += len(piece)
            if size > limit:
                raise AnswerTooLarge(
                    f"{self._name}: the answer of {self._inner.url.raw_host} exceeds {limit} bytes"
                )
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def read_some(self) -> bytes:
        """Return what has arrived, waiting for at least one byte; empty at the end."""
        try:
            return await self._inner.content.readany()
        except _WIRE_ERRORS as error:
            raise wire_failure(error, name=self._name, url=self._inner.url) from error

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


class HttpCall:
    """One request as an async context manager; a class, because it is on every hot path."""

    __slots__ = (
        "_body",
        "_headers",
        "_idle_s",
        "_is_sent",
        "_may_ask",
        "_method",
        "_name",
        "_response",
        "_sessions",
        "_timeout_s",
        "_trusted",
        "_unwatch",
        "_url",
    )

    def __init__(  # noqa: PLR0917 - internal, built in one place below
        self,
        sessions: "HttpSessions",
        name: str,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        timeout_s: float,
        trusted: bool,
        may_ask: MayAsk | None,
        idle_s: float,
    ) -> None:
        self._sessions = sessions
        self._may_ask = may_ask
        self._name = name
        self._method = method
        self._url = url
        self._headers = headers
        self._body = body
        self._timeout_s = timeout_s
        self._trusted = trusted
        self._idle_s = idle_s
        self._response: aiohttp.ClientResponse | None = None
        self._unwatch = _nothing
        self._is_sent = False

    def sent(self) -> None:
        """Note that the request is being written to a connection."""
        self._is_sent = True

    async def __aenter__(self) -> Response:
        failpoints.hit(f"wire.{self._name}.before")
        answer: aiohttp.ClientResponse | None = None
        try:
            if self._trusted:
                connect_s = self._sessions.settings.connect_timeout_s
                limits = _trusted_timeout(self._timeout_s, connect_s)
                answer = await self._send(self._hop(URL(self._url)), limits)
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
            # A connection whose answer was read completely is already back in the pool.
            self._response.close()
            self._unwatch()
        failpoints.hit(f"wire.{self._name}.after")

    def _hop(self, url: URL) -> Hop:
        return Hop(method=self._method, url=url, headers=self._headers, body=self._body)

    async def _send(self, hop: Hop, limits: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        sessions = self._sessions
        session = sessions.get(trusted=self._trusted)
        _CALL.set(self)
        for pause_s in (*sessions.files.pauses_s, None):
            try:
                return await self._ask(session, hop, limits)
            except _WIRE_ERRORS as error:
                # Another call ends soon and leaves its file.
                if pause_s is None or self._is_sent or not sessions.files.caused(error):
                    raise wire_failure(error, name=self._name, url=hop.url) from error
            await asyncio.sleep(pause_s)
        raise AssertionError("the last try returns or raises")

    async def _ask(
        self, session: aiohttp.ClientSession, hop: Hop, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        try:
            return await session.request(
                hop.method,
                hop.url,
                headers=hop.headers,
                data=_in_pieces(hop.body),
                allow_redirects=False,
                timeout=limits,
                # A proxy connects by itself, so the address it picks could not be checked.
                proxy=self._sessions.settings.proxy if self._trusted else None,
            )
        except asyncio.CancelledError as error:
            if not self._is_sent:
                note_unsent(error)
            raise

    async def _follow(self) -> aiohttp.ClientResponse:
        """Send, and follow redirects; the time limit covers the whole chain."""
        guard, settings = self._sessions.guard, self._sessions.settings
        hop = self._hop(read_url(self._url))
        guard.check_url(hop.url)
        self._check_host(hop.url)
        clock = asyncio.get_running_loop().time
        end = clock() + self._timeout_s
        for _ in range(MAX_REDIRECTS + 1):
            left_s = end - clock()
            if left_s <= 0:
                raise wire_failure(TimeoutError(), name=self._name, url=hop.url)
            limits = _timeout(left_s, settings.connect_timeout_s, idle_s=self._idle_s)
            answer = await self._send(hop, limits)
            try:
                location = answer.headers.get("Location")
                following = next_hop(hop, answer.status, location=location, guard=guard)
                if following is not None:
                    self._check_host(following.url)
            except AddressRefused:
                answer.close()
                raise
            if following is None:
                return answer
            answer.close()
            hop = following
        raise AddressRefused(
            f"{self._name}: {hop.url.raw_host} redirects more than {MAX_REDIRECTS} times; nothing was"
            " read"
        )

    def _check_host(self, url: URL) -> None:
        """Raise `AddressRefused` for a host that the caller may not call."""
        if self._may_ask is not None and not self._may_ask(url.raw_host or ""):
            raise AddressRefused(
                f"{self._name}: {url.raw_host} is not a host that may be called here; nothing was "
                "sent"
                " to it"
            )


def _in_pieces(body: bytes | None) -> bytes | io.BytesIO | None:
    """Return a body in the form in which it is written: a large one in pieces."""
    return body if body is None or len(body) <= _WHOLE_BYTES else io.BytesIO(body)


_CALL: ContextVar[HttpCall] = ContextVar("call")


class _NotedRequest(aiohttp.ClientRequest):
    """Tells its call when it is sent; aiohttp's own traces do so too, at 80 us of CPU a call."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        # The session itself opens a websocket, without one of our calls.
        call = _CALL.get(None)
        if call is not None:
            call.sent()
        return await super().send(conn)


class _PatientHandler(ResponseHandler):
    """Resumes reading only if it was paused.

    aiohttp resumes after every chunk that is read: it feeds its parser nothing and calls the
    transport, which is a tenth of the cost of a stream of small chunks.
    """

    def resume_reading(self, resume_parser: bool = True) -> None:
        if self._reading_paused:
            super().resume_reading(resume_parser)


class HttpSessions:
    """The two sessions of a client, made when they are first used inside the running loop."""

    def __init__(
        self,
        settings: HttpSettings,
        *,
        guard: Guard,
        files: FileShortage,
        ssl_context: ssl.SSLContext | None,
        resolver: AbstractResolver | None,
    ) -> None:
        self.settings = settings
        self.guard = guard
        self.files = files
        self._ssl_context = ssl_context
        self._resolver = resolver
        self._trusted: aiohttp.ClientSession | None = None
        self._guarded: aiohttp.ClientSession | None = None
        self._lookup: AbstractResolver | None = None

    def get(self, *, trusted: bool) -> aiohttp.ClientSession:
        """Return the session for this kind of address; the two kinds never share connections."""
        known = self._trusted if trusted else self._guarded
        if known is not None:
            return known
        resolver = self._resolver
        if not trusted:
            resolver = self._lookup = GuardedResolver(self.guard, resolver or ThreadLookup())
        made = aiohttp.ClientSession(
            connector=self._connector(resolver, trusted=trusted),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_NO_AUTO_HEADERS,
            headers={"User-Agent": self.settings.user_agent},
            request_class=_NotedRequest,
        )
        # By default it repeats a PUT or DELETE whose connection was lost and reports only the
        # second result, which hides that the first may have arrived.
        made._retry_connection = False
        if trusted:
            self._trusted = made
        else:
            self._guarded = made
        return made

    def _connector(
        self, resolver: AbstractResolver | None, *, trusted: bool
    ) -> aiohttp.TCPConnector:
        family = socket.AF_INET if self.settings.ipv4_only else socket.AF_UNSPEC
        made = aiohttp.TCPConnector(
            limit=0 if trusted else MAX_UNTRUSTED_CONNECTIONS,
            family=family,
            resolver=resolver,
            use_dns_cache=trusted,
            socket_factory=None if trusted else self.guard.make_socket,
            keepalive_timeout=self.settings.keepalive_s,
            ssl=self._ssl_context if self._ssl_context is not None else True,
        )
        # The attribute is typed as a maker of the parent class.
        made._factory = partial(  # type: ignore[assignment]
            _PatientHandler, loop=asyncio.get_running_loop()
        )
        return made

    async def close(self) -> None:
        """Close every connection."""
        for session in (self._trusted, self._guarded):
            if session is not None:
                await session.close()
        if self._lookup is not None:
            await self._lookup.close()
        self._trusted = self._guarded = self._lookup = None


def _timeout(total_s: float, connect_s: float, *, idle_s: float | None) -> aiohttp.ClientTimeout:
    """Return limits under which `connect` always expires before `total`.

    So a call that exceeded its total time had certainly been sent.
    """
    if total_s == NO_LIMIT:
        return aiohttp.ClientTimeout(total=None, connect=connect_s, sock_read=idle_s)
    connect_s = min(connect_s, total_s * 0.9)
    return aiohttp.ClientTimeout(total=total_s, connect=connect_s, sock_read=idle_s)


@lru_cache(maxsize=64)
def _trusted_timeout(total_s: float, connect_s: float) -> aiohttp.ClientTimeout:
    """Return the limits of a trusted call, cached because there are few kinds and many calls."""
    return _timeout(total_s, connect_s, idle_s=None)


def _watch(answer: aiohttp.ClientResponse) -> Callable[[], None]:
    """Make a closed connection end the body; return a function that removes the watch.

    After an invalid chunk aiohttp closes the connection and forgets the body, whose reader would
    wait forever.
    """
    protocol = None if answer.connection is None else answer.connection.protocol
    closed = None if protocol is None else protocol.closed
    if closed is None:
        return _nothing

    def tell(_closed: "asyncio.Future[None]") -> None:
        content = answer.content
        if not content.is_eof() and content.exception() is None:
            content.set_exception(aiohttp.ClientPayloadError("the connection was closed"))

    # Set up once for each connection, however many calls it serves.
    closed.remove_done_callback(_look_at)
    closed.add_done_callback(_look_at)
    closed.add_done_callback(tell)

    def take_off() -> None:
        closed.remove_done_callback(tell)

    return take_off


def _look_at(closed: "asyncio.Future[None]") -> None:
    """Retrieve the exception of a closed connection, which would otherwise be logged as
    unretrieved."""
    if not closed.cancelled():
        closed.exception()


def _nothing() -> None:
    """Do nothing."""
