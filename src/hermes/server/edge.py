"""The edge of the HTTP server: limits what a connection may send before its request is known.

A head is limited in bytes, lines and time, and so is the framing around a body. A connection whose
peer does not read its answer is closed. Everything written in one iteration of the event loop is
sent at once: a stream of small events costs one system call instead of many.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NoReturn

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from hermes.http.body import HAS_BODY
from hermes.http.sse import ON_LOST
from hermes.server.connection_limits import ConnectionLimits, address_key
from hermes.server.writes import BufferedTransport

_URL_BYTES = 16_384
_PIPELINED = 32
# A chunk of one byte has five bytes of framing.
_AROUND_PER_BYTE = 8
# How much of a body is still read after its answer is complete.
_UNWANTED_BYTES = 1_048_576
_LINGER_S = 1.0
_LINGER_BYTES = 1_048_576


class EdgeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a connection may send before its request is known, and how long it may take."""

    head_bytes: int = 65_536
    head_lines: int = 100
    head_s: float = 10.0
    send_s: float = 60.0


class _OverLimit(Exception):
    """Raised to stop parsing a request that exceeds a limit."""


def _answer(status: int, text: str) -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: text/plain; "
        f"charset=utf-8\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


_NOT_HTTP = _answer(400, "This is not a valid HTTP request.")
_TOO_SLOW = _answer(408, "The head of the request did not arrive in time.")
_LONG_URL = _answer(414, f"The address of the request is longer than {_URL_BYTES} bytes.")
_LARGE_HEAD = _answer(431, "The head of the request is too large or has too many lines.")
_LARGE_FRAMING = _answer(400, "The chunk extensions or trailers of the body are too large.")
_NO_TUNNEL = _answer(400, "This server is not a proxy: it does not answer CONNECT.")
_PIPELINE_FULL = _answer(400, "Too many requests are waiting for the answer to an earlier one.")
_FULL = _answer(503, "Too many connections are open. Try again later.")


class EdgeProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits; it notifies the request of a lost connection."""

    # Any: what uvicorn passes to its protocols.
    def __init__(
        self, *args: Any, limits: EdgeLimits, places: ConnectionLimits, **more: Any
    ) -> None:
        super().__init__(*args, **more)
        self._limits = limits
        self._places = places
        self._address: str | None = None
        self._on_lost: Callable[[], object] | None = None
        self._is_lost = False
        self._running: RequestResponseCycle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._reason = _NOT_HTTP
        self._refusal: bytes | None = None
        self._linger: asyncio.TimerHandle | None = None
        self._is_refused = False
        self._in_head = False
        self._in_body = False
        self._head_bytes = 0
        self._around_body = 0
        self._unwanted = 0
        self._discarded = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and start the timer of the first head."""
        self._gathering = BufferedTransport(transport, self.loop, send_s=self._limits.send_s)
        super().connection_made(self._gathering)  # type: ignore[arg-type]
        # Writing is paused exactly as long as part of an answer is waiting here for its peer.
        transport.set_write_buffer_limits(0)
        address = address_key(self.client[0] if self.client else None)
        socket = transport.get_extra_info("socket")
        number = -1 if socket is None else socket.fileno()
        if self._places.admit(self, address, descriptor=number):
            self._address = address
            self._start_clock()
        else:
            self._is_refused = True
            self.transport.write(_FULL)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release everything, and notify the requests that registered for the loss."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self._stop_clock()
        if self._linger is not None:
            self._linger.cancel()
        self._gathering.stop_watching()
        self.pipeline.clear()
        if self._address is not None:
            self._places.leave(self, self._address)
        # uvicorn only notices the last request; an earlier one may still be running.
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        self._is_lost = True
        if self._on_lost is not None:
            self._on_lost()

    def drop(self) -> None:
        """Close the connection after sending what is already written."""
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Parse the received bytes, within the limits."""
        if self._is_refused:
            self._discard(data)
            return
        if self._in_body:
            self._around_body += len(data)
        else:
            self._head_bytes += len(data)
            self._in_head = True
        self._parse(data)
        if self._in_head:
            self._check_head()
        elif self._in_body:
            self._check_body(len(data))
        else:
            self._check_end()

    def pause_writing(self) -> None:
        """Start checking whether the peer reads."""
        super().pause_writing()
        self._places.heard(self)
        self._gathering.watch()

    def resume_writing(self) -> None:
        """Let the answer continue."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._gathering.stop_watching()
            self._rest()

    def on_message_begin(self) -> None:
        """Start a head, and let its request register for a lost connection."""
        super().on_message_begin()
        self._in_head = True
        self.scope[ON_LOST] = self._tell  # type: ignore[literal-required]
        self.scope[HAS_BODY] = self._has_body  # type: ignore[literal-required]

    def on_url(self, url: bytes) -> None:
        """Limit the length of the address."""
        super().on_url(url)
        if len(self.url) > _URL_BYTES:
            self._end_parsing(_LONG_URL)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Limit the lines of a head; drop trailer lines after a body."""
        if self._in_body:
            return
        headers = self.headers
        if len(headers) >= self._limits.head_lines:
            self._end_parsing(_LARGE_HEAD)
        # As the parent does: a call of it for each line is the largest part of reading a head.
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        headers.append((name, value))

    def on_headers_complete(self) -> None:
        """End a head; start its request."""
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                self._end_parsing(_NO_TUNNEL)
            # The parser stops here: `_parse` makes it read this head again, without the upgrade
            # offer.
            return
        behind = 0
        # Counted with the bytes after the head: only then is a second look worthwhile.
        if self._head_bytes > self._limits.head_bytes:
            behind = self._head_bytes - self._head_size()
            if self._head_bytes - behind > self._limits.head_bytes:
                self._end_parsing(_LARGE_HEAD)
        if len(self.pipeline) >= _PIPELINED:
            self._end_parsing(_PIPELINE_FULL)
        super().on_headers_complete()
        self._in_head = False
        self._in_body = True
        self._head_bytes = self._unwanted = 0
        self._around_body = behind

    def on_body(self, body: bytes) -> None:
        """Compare a piece of a body with the framing around it."""
        self._around_body -= len(body) * (1 + _AROUND_PER_BYTE)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request, unless its head will be read again."""
        if not self._in_head:
            self._in_body = False
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Start the next request; after the last one, send the refusal of whatever followed."""
        super().on_response_complete()
        if self._refusal is None:
            self._rest()
        elif not self._is_answering() and not self.transport.is_closing():
            self._end_with(self._refusal)

    # Private to uvicorn, which is pinned: the only place that knows the running request.
    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        self._places.heard(self)
        super()._start_asgi_task(cycle, app)

    def _parse(self, data: bytes) -> None:
        """Feed the parser; ignore an offer to upgrade, as if it were not in the head."""
        self._unset_keepalive_if_required()
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                # The parser would read what follows as another protocol, and not see a body.
                data = self._head_without_offer() + data[offer.args[0] :]
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                continue
            except httptools.HttpParserError:
                self.logger.warning("Invalid HTTP request received.")
                self._refuse(self._reason)
            return

    def _head_without_offer(self) -> bytes:
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
        lines += [b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])

    def _tell(self, whom: Callable[[], object] | None) -> None:
        self._on_lost = whom
        if whom is not None and self._is_lost:
            whom()

    def _has_body(self) -> bool:
        return self._running is not None and not self._running.more_body

    def _end_parsing(self, reason: bytes) -> NoReturn:
        self._reason = reason
        raise _OverLimit

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _check_head(self) -> None:
        if self._head_bytes > self._limits.head_bytes:
            self._refuse(_LARGE_HEAD)
        else:
            self._start_clock()

    def _check_body(self, size: int) -> None:
        if self._around_body > self._limits.head_bytes:
            self._refuse(_LARGE_FRAMING)
            return
        # The framing that a body allows does not accumulate: trailer lines could otherwise grow as
        # large.
        self._around_body = max(0, self._around_body)
        if not self.cycle.response_complete:
            self._stop_clock()
            return
        self._unwanted += size
        if self._unwanted > _UNWANTED_BYTES:
            self._refuse(b"")
        else:
            self._start_clock()

    def _check_end(self) -> None:
        self._stop_clock()
        is_over = not self._is_refused and self.cycle.response_complete
        if is_over and self.timeout_keep_alive_task is None:
            # The body ended after its answer: uvicorn has stopped its timer and starts no other.
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _start_clock(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self._limits.head_s, self._overdue)

    def _stop_clock(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _overdue(self) -> None:
        """Close a connection whose head, or the rest of an unwanted body, did not arrive in
        time.
        """
        self._timer = None
        if self._is_answering():
            self._start_clock()
        elif self._head_bytes:
            self._refuse(_TOO_SLOW)
        else:
            self.transport.close()

    def _is_answering(self) -> bool:
        return self._running is not None and not self._running.response_complete

    def _rest(self) -> None:
        """Allow the connection to be closed to make room while no answer is pending on it."""
        if (
            self._running is not None
            and self._running.response_complete
            and not self.flow.write_paused
            and not self.transport.is_closing()
        ):
            self._places.idle(self)

    def _discard(self, data: bytes) -> None:
        self._discarded += len(data)
        if self._discarded > _LINGER_BYTES and self._linger is not None:
            self.flow.pause_reading()

    def _refuse(self, answer: bytes) -> None:
        """Read nothing more; answer, unless the refusal would end up inside or after the request's
        own answer.
        """
        is_in_body, running = self._in_body, self._running
        self._is_refused, self._in_head, self._in_body = True, False, False
        self._stop_clock()
        self._unset_keepalive_if_required()
        if is_in_body and self.cycle is running:
            if running.response_complete:
                self._end_with(b"")
            elif running.response_started:
                self.transport.close()
            else:
                self._end_with(answer)
        elif self._is_answering():
            # The requests before the refused one get their answers first.
            self._refusal = answer
            if is_in_body:
                self.pipeline.popleft()
        else:
            self._end_with(answer)

    def _end_with(self, answer: bytes) -> None:
        """Send the last bytes, and close once the peer has had time to read them."""
        self._unset_keepalive_if_required()
        if answer:
            self.transport.write(answer)
        self._gathering.write_eof()
        # Closing a socket with unread bytes resets it, and the reset can overtake the answer.
        self._linger = self.loop.call_later(_LINGER_S, self.transport.close)
