"""Talks to a server over HTTP: the SDK's transports on our own client, which limits the responses.

This is the only part besides `net/` that opens connections, because the SDK speaks MCP through its
own HTTP client. It is allowed to: the address comes from the operator's configuration, which is
trusted, and the SDK follows no redirect away from it. No person, model or page can choose it.
"""

import math
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path

import httpx2
import msgspec
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from hermes.tools.mcp.calls import RunningCall
from hermes.tools.mcp.clean_text import one_line
from hermes.tools.mcp.oauth_wire import OAuthTokens
from hermes.tools.mcp.streams import Streams
from hermes.tools.mcp.traffic_limit import TrafficLimit

# The call for which a request is sent: the SDK keeps the sender's context.
CURRENT: ContextVar[RunningCall | None] = ContextVar("mcp_call", default=None)
_SESSION = "mcp-session-id"
# The statuses with which servers report an unknown session, by the specification or by habit.
_UNKNOWN_SESSION = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND})
_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_WRITE_S = 30.0
_FAREWELL = dict.fromkeys(("connect", "read", "write", "pool"), 3.0)
# Loading the certificates takes long; this module is imported off the event loop.
_TLS = httpx2.create_ssl_context()
_STATUSES = frozenset(status.value for status in HTTPStatus)


@lru_cache(maxsize=1)
def _trusting(ca_bundle: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca_bundle)


class HttpServerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a server, and how it is called."""

    url: str
    transport: str
    headers: Mapping[str, str]
    connect_timeout_s: float
    max_message_bytes: int
    proxy: str | None
    ipv4_only: bool
    ca_bundle: Path | None = None


def make_transport(place: HttpServerAddress) -> httpx2.AsyncHTTPTransport:
    """Return what opens connections, as the network settings say."""
    return httpx2.AsyncHTTPTransport(
        verify=_TLS if place.ca_bundle is None else _trusting(place.ca_bundle),
        trust_env=False,
        proxy=place.proxy,
        local_address="0.0.0.0" if place.ipv4_only else None,
    )


class HttpWire:
    """One server over HTTP, and its last refusal; `lost` is called when it is gone."""

    def __init__(
        self, place: HttpServerAddress, pace: TrafficLimit, *, lost: Callable[[str], None]
    ) -> None:
        self._place = place
        self._pace = pace
        self._lost = lost
        # Sends tokens of OAuth, where the settings of the server say so.
        self.tokens: OAuthTokens | None = None
        self.refusal: str | None = None

    def epitaph(self) -> str:
        """Return why nothing more comes."""
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
        place, inner = self._place, make_transport(self._place)
        return httpx2.AsyncClient(
            headers=headers,
            auth=auth or self.tokens,
            # Streams stay open while there is nothing to send; calls have their own limits.
            timeout=httpx2.Timeout(
                connect=place.connect_timeout_s, read=None, write=_WRITE_S, pool=_WRITE_S
            ),
            # Variables such as HTTP_PROXY would send loopback addresses elsewhere.
            trust_env=False,
            transport=_Bounded(inner, self),
        )

    async def account(self, count: int) -> None:
        """Take bytes from this server's allowance."""
        await self._pace.spend_bytes(count)

    def note_fault(self, request: httpx2.Request, error: httpx2.TransportError) -> None:
        """Record that a request failed, and for the running call whether it was sent."""
        self.refusal = f"no connection to the server ({one_line(str(error), 200)})"
        if isinstance(error, _NOT_SENT):
            _mark_not_taken(request)
        self._lost(self.refusal)

    def note_refusal(self, request: httpx2.Request, status: int) -> None:
        """Record a refusal; a refusal of the session itself ends the connection."""
        # Streamable HTTP works without the optional stream that it requests with GET.
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
        """The maximum number of bytes of one response."""
        return self._place.max_message_bytes


class UnreadAnswer(httpx2.StreamError):
    """A response that is not read to its end; the SDK turns it into the error of that request."""


class _Bounded(httpx2.AsyncBaseTransport):
    """Sends requests for uncompressed responses, and ends responses at a limit."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, wire: HttpWire) -> None:
        self._inner = inner
        self._wire = wire

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request."""
        # A few compressed bytes can expand to very many.
        request.headers["accept-encoding"] = "identity"
        if request.method == "DELETE":
            # The request that ends the session; a hanging server must not delay the next
            # connection.
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
        """Return how many bytes of a response are read; an event stream has no end.

        The SDK limits each event. A compressed response was not requested and is not read.
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
    """Mark the running call as not received, if this request is the call itself.

    Its answers to questions, its cancellation and its attempts to read the rest of a response are
    sent in the same context: a failure of one of those says nothing about the call.
    """
    call = CURRENT.get()
    if call is None or request.method != "POST":
        return
    if msgspec.json.decode(request.content, type=_Head).method == "tools/call":
        call.not_taken = True
