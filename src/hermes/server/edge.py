"""The edge of the HTTP server: what is written in one turn of the loop goes out in one piece.

A stream of small events, and an answer whose head and body are written apart, cost one system
call instead of many. Nothing waits longer than the end of the loop's turn.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MOST_BYTES = 65_536


# Where a request finds how to be told that its connection is gone.
ON_LOST = "hermes.on_lost"


class EdgeProtocol(HttpToolsProtocol):
    """uvicorn's protocol over a transport that gathers; it tells when a connection is lost."""

    _on_lost: Callable[[], None] | None = None

    def on_message_begin(self) -> None:
        """Let the request ask to be told."""
        super().on_message_begin()
        self.scope[ON_LOST] = self._tell  # type: ignore[literal-required]

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever asked."""
        super().connection_lost(exc)
        if self._on_lost is not None:
            self._on_lost()

    def _tell(self, whom: Callable[[], None] | None) -> None:
        self._on_lost = whom

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Put the gathering in front of the connection."""
        super().connection_made(_Gathering(transport, self.loop))  # type: ignore[arg-type]


class _Gathering:
    """A transport that holds writes back until the loop's turn ends."""

    __slots__ = ("_loop", "_ready", "_size", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._ready: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Take bytes to send."""
        if not self._ready:
            self._loop.call_soon(self._flush)
        self._ready.append(data)
        self._size += len(data)
        if self._size >= _MOST_BYTES:
            self._flush()

    def close(self) -> None:
        """Send what is held back, then close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._transport.is_closing():
            self._ready, self._size = [], 0
        elif self._ready:
            ready, self._ready, self._size = self._ready, [], 0
            self._transport.write(ready[0] if len(ready) == 1 else b"".join(ready))

    # Any: whatever else the protocol asks of its transport.
    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
