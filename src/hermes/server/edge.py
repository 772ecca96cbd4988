"""The edge of the HTTP server: bounds what a connection may send before its request is known.

A head is bounded in bytes, lines and time, and so is what surrounds a body. A peer that does not
read its answer is closed. What is written in one turn of the loop goes out in one piece: a stream
of small events costs one system call instead of many.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NoReturn

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from hermes.server.places import Places, address_key
from hermes.server.writes import Gathering

# Where a request finds how to be told that its connection is gone.
ON_LOST = "hermes.on_lost"

_URL_BYTES = 16_384
_PIPELINED = 32
# A chunk of one byte has five bytes around it.
_AROUND_PER_BYTE = 8
_LINGER_S = 1.0
_LINGER_BYTES = 1_048_576


class EdgeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a connection may send before its request is known, and how long it may take."""

    head_bytes: int = 65_536
    head_lines: int = 100
    head_s: float = 10.0
    send_s: float = 60.0


class _OverLimit(Exception):
    """Ends the parsing of a request that is over a limit."""


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
_PIPELINE_FULL = _answer(400, "Too many requests wait for the answer to an earlier one.")
_FULL = _answer(503, "Too many connections are open. Try again later.")


class EdgeProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits; it reports a lost connection to the request."""

    # Any: what uvicorn hands to its protocols.
    def __init__(self, *args: Any, limits: EdgeLimits, places: Places, **more: Any) -> None:
        super().__init__(*args, **more)
        self._limits = limits
        self._places = places
        self._address: str | None = None
        self._on_lost: Callable[[], None] | None = None
        self._running: RequestResponseCycle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._reason = _NOT_HTTP
        self._linger: asyncio.TimerHandle | None = None
        self._is_refused = False
        self._in_head = False
        self._in_body = False
        self._head_bytes = 0
        self._around_body = 0
        self._discarded = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, and start the clock of the first head."""
        self._gathering = Gathering(transport, self.loop, send_s=self._limits.send_s)
        super().connection_made(self._gathering)  # type: ignore[arg-type]
        address = address_key(self.client[0] if self.client else None)
        if self._places.admit(self, address):
            self._address = address
            self._start_clock()
        else:
            self._is_refused = True
            self.transport.write(_FULL)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Free everything, and report the loss to whoever asked."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self._stop_clock()
        if self._linger is not None:
            self._linger.cancel()
        self._gathering.stop_watching()
        self.pipeline.clear()
        if self._address is not None:
            self._places.leave(self, self._address)
        # uvicorn notices the last request only; one before it may still be running.
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        if self._on_lost is not None:
            self._on_lost()

    def drop(self) -> None:
        """Close the connection now."""
        self._gathering.abort()

    def data_received(self, data: bytes) -> None:
        """Parse what came, within the limits."""
        if self._is_refused:
            self._discard(data)
            return
        if self._in_body:
            self._around_body += len(data)
        else:
            self._head_bytes += len(data)
            self._in_head = True
        super().data_received(data)
        if self._in_head:
            self._check_head()
        elif self._in_body:
            self._check_body()
        else:
            self._check_end()

    def pause_writing(self) -> None:
        """Watch whether the peer reads."""
        super().pause_writing()
        self._gathering.watch()

    def resume_writing(self) -> None:
        """Let the answer go on."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._gathering.stop_watching()

    def on_message_begin(self) -> None:
        """Begin a head, and let its request ask to be told."""
        super().on_message_begin()
        self._in_head = True
        self.scope[ON_LOST] = self._tell  # type: ignore[literal-required]

    def on_url(self, url: bytes) -> None:
        """Bound the address."""
        super().on_url(url)
        if len(self.url) > _URL_BYTES:
            self._end_parsing(_LONG_URL)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Bound the lines of a head; lines that follow a body are dropped."""
        if self._in_body:
            return
        if len(self.headers) >= self._limits.head_lines:
            self._end_parsing(_LARGE_HEAD)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """End a head; start its request."""
        # Counted with what came behind the head: only then is it worth a second look.
        if (
            self._head_bytes > self._limits.head_bytes
            and self._head_size() > self._limits.head_bytes
        ):
            self._end_parsing(_LARGE_HEAD)
        if len(self.pipeline) >= _PIPELINED:
            self._end_parsing(_PIPELINE_FULL)
        super().on_headers_complete()
        self._in_head = False
        self._in_body = True
        self._head_bytes = self._around_body = 0

    def on_body(self, body: bytes) -> None:
        """Weigh a piece of a body against what surrounds it."""
        self._around_body -= len(body) * (1 + _AROUND_PER_BYTE)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._in_body = False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be parsed, or is over a limit."""
        self._refuse(self._reason)

    # Private to uvicorn, which is pinned: the only place that knows which request runs.
    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: a request for an upgrade is answered like any other."""

    def _tell(self, whom: Callable[[], None] | None) -> None:
        self._on_lost = whom

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

    def _check_body(self) -> None:
        if self._around_body > self._limits.head_bytes:
            self._refuse(_LARGE_FRAMING)
        elif self.cycle.response_complete:
            # Nobody waits for the rest of this body.
            self._start_clock()
        else:
            self._stop_clock()

    def _check_end(self) -> None:
        self._stop_clock()
        is_over = not self._is_refused and self.cycle.response_complete
        if is_over and self.timeout_keep_alive_task is None:
            # The body ended after its answer: uvicorn has stopped its clock and starts no other.
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
            self._places.heard(self)

    def _overdue(self) -> None:
        """Close a connection whose head, or the rest of an unwanted body, did not come in time."""
        self._timer = None
        if self._is_answering():
            self._start_clock()
        elif self._head_bytes:
            self._refuse(_TOO_SLOW)
        else:
            self.transport.close()

    def _is_answering(self) -> bool:
        return self._running is not None and not self._running.response_complete

    def _discard(self, data: bytes) -> None:
        self._discarded += len(data)
        if self._discarded > _LINGER_BYTES and self._linger is not None:
            self._gathering.abort()

    def _refuse(self, answer: bytes) -> None:
        """Read nothing more; answer unless that would end up inside another answer."""
        is_own_body = self._in_body and self.cycle is self._running
        self._is_refused, self._in_head, self._in_body = True, False, False
        self._stop_clock()
        self._unset_keepalive_if_required()
        running = self._running
        if running is not None and not running.response_complete:
            if not is_own_body:
                # A later request is refused: the one before it gets its answer.
                running.keep_alive = False
                self.pipeline.clear()
                return
            if running.response_started:
                self.transport.close()
                return
        self.transport.write(answer)
        self._gathering.write_eof()
        # Closing a socket with unread bytes resets it, and the reset can overtake the answer.
        self._linger = self.loop.call_later(_LINGER_S, self._gathering.abort)
