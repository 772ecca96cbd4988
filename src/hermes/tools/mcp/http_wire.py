"""Speaking to a server over HTTP: the SDK's transports on a client of ours that bounds the answers.

This is the one part beside `net/` that opens connections, because the SDK speaks MCP through its
own HTTP client. It is allowed to: the address comes from the operator's configuration, which is
trusted, and the SDK follows no redirect away from it. No person, model or page has a say in it.
"""

import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from http import HTTPStatus

import httpx2
import msgspec
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from hermes.tools.mcp.calls import RunningCall
from hermes.tools.mcp.clean_text import one_line
from hermes.tools.mcp.streams import Streams
from hermes.tools.mcp.traffic_limit import TrafficLimit

# The call for which a request is sent: the SDK carries the context of who sends along.
CURRENT: ContextVar[RunningCall | None] = ContextVar("mcp_call", default=None)
_SESSION = "mcp-session-id"
# How servers say that they do not know the session (any more), by the specification and by habit.
_UNKNOWN_SESSION = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND})
_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_WRITE_S = 30.0
_FAREWELL = dict.fromkeys(("connect", "read", "write", "pool"), 3.0)
# Reading the certificates takes long; this module is imported beside the loop.
_TLS = httpx2.create_ssl_context()
_STATUSES = frozenset(status.value for status in HTTPStatus)


class HttpServerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server is and how it is called."""

    url: str
    transport: str
    headers: Mapping[str, str]
    connect_timeout_s: float
    max_message_bytes: int
    proxy: str | None
    ipv4_only: bool


class HttpWire:
    """One server over HTTP, and what its last refusal was; `lost` is told when it is gone."""

    def __init__(
        self, place: HttpServerAddress, pace: TrafficLimit, *, lost: Callable[[str], None]
    ) -> None:
        self._place = place
        self._pace = pace
        self._lost = lost
        self.refusal: str | None = None

    def epitaph(self) -> str:
        """Say why nothing more comes."""
        return self.refusal or "the server closed the connection"

    def open(self) -> AbstractAsyncContextManager[Streams]:
        """Return the transport; entering it gives the streams."""
        if self._place.transport == "sse":
            return sse_client(
                self._place.url,
                headers=dict(self._place.headers),
                timeout=self._place.connect_timeout_s,
                httpx_client_factory=self._client,
            )
        return self._streamable()

    @asynccontextmanager
    async def _streamable(self) -> AsyncIterator[Streams]:
        async with (
            self._client(headers=dict(self._place.headers)) as client,
            streamable_http_client(
                self._place.url,
                http_client=client,
                max_sse_event_size=self._place.max_message_bytes,
            ) as streams,
        ):
            yield streams

    def _client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        place = self._place
        inner = httpx2.AsyncHTTPTransport(
            verify=_TLS,
            trust_env=False,
            proxy=place.proxy,
            local_address="0.0.0.0" if place.ipv4_only else None,
        )
        return httpx2.AsyncClient(
            headers=headers,
            auth=auth,
            # Streams stay open for as long as there is nothing to say; calls have limits of their own.
            timeout=httpx2.Timeout(
                connect=place.connect_timeout_s, read=None, write=_WRITE_S, pool=_WRITE_S
            ),
            # Variables such as HTTP_PROXY would send loopback addresses elsewhere.
            trust_env=False,
            transport=_Bounded(inner, self),
        )

    async def account(self, count: int) -> None:
        """Take bytes from the allowance of this server."""
        await self._pace.spend_bytes(count)

    def note_fault(self, request: httpx2.Request, error: httpx2.TransportError) -> None:
        """Remember that a request failed; the running call learns whether it was sent."""
        self.refusal = f"no connection to the server ({one_line(str(error), 200)})"
        if isinstance(error, _NOT_SENT):
            _mark_not_taken(request)
        self._lost(self.refusal)

    def note_refusal(self, request: httpx2.Request, status: int) -> None:
        """Remember a refusal; one of the session itself ends the connection."""
        # Streamable HTTP may do without the stream of its own that it asks for with GET.
        if request.method != "POST" and self._place.transport != "sse":
            return
        phrase = HTTPStatus(status).phrase if status in _STATUSES else "an error"
        self.refusal = f"the server answered HTTP {status} ({phrase})"
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            self.refusal += "; check the headers in its settings"
        is_of_session = _SESSION in request.headers and status in _UNKNOWN_SESSION
        if is_of_session or self._place.transport == "sse":
            _mark_not_taken(request)
            self._lost(self.refusal)

    @property
    def limit(self) -> int:
        """How many bytes one answer may have."""
        return self._place.max_message_bytes


class UnreadAnswer(httpx2.StreamError):
    """An answer that is not read to its end; the SDK makes it the error of that one request."""


class _Bounded(httpx2.AsyncBaseTransport):
    """Requests that ask for plain bytes, and answers that end at a limit."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, wire: HttpWire) -> None:
        self._inner = inner
        self._wire = wire

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request."""
        # A few compressed bytes can become very many.
        request.headers["accept-encoding"] = "identity"
        if request.method == "DELETE":
            # The farewell; a server that hangs must not hold up the next connection.
            request.extensions = {**request.extensions, "timeout": _FAREWELL}
        try:
            response = await self._inner.handle_async_request(request)
        except httpx2.TransportError as error:
            self._wire.note_fault(request, error)
            raise
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            self._wire.note_refusal(request, response.status_code)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, self._wire, limit=self._limit(response))
        return response

    def _limit(self, response: httpx2.Response) -> float:
        """Return how many bytes of an answer are read; an event stream goes on for ever.

        The SDK bounds each event of that. What is compressed was not asked for, and is not read.
        """
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            return -1
        kind = response.headers.get("content-type", "").lower()
        return math.inf if kind.startswith("text/event-stream") else self._wire.limit

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    """A body that is read at the server's pace and up to a limit."""

    def __init__(self, inner: httpx2.AsyncByteStream, wire: HttpWire, *, limit: float) -> None:
        self._inner = inner
        self._wire = wire
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        if self._limit < 0:
            raise UnreadAnswer("the answer is compressed, which was not asked for")
        async for chunk in self._inner:
            seen += len(chunk)
            if seen > self._limit:
                raise UnreadAnswer(f"the answer exceeds {self._limit:,.0f} bytes")
            await self._wire.account(len(chunk))
            yield chunk

    async def aclose(self) -> None:
        """Close the body."""
        await self._inner.aclose()


class _Head(msgspec.Struct):
    method: str = ""


def _mark_not_taken(request: httpx2.Request) -> None:
    """Tell the running call that it was not taken, if this request is the call itself.

    Its answers to questions, its cancellation and its attempts to hear the rest of an answer go out
    in the same context: that one of those failed says nothing about the call.
    """
    call = CURRENT.get()
    if call is None or request.method != "POST":
        return
    if msgspec.json.decode(request.content, type=_Head).method == "tools/call":
        call.not_taken = True
