"""Writes to one connection: batched, and only to a peer that reads.

Everything written in one iteration of the event loop is sent at once: a stream of small events, and
an answer whose head and body are written separately, cost one system call instead of many. A
connection whose peer does not read its answer is closed, so that it occupies neither memory nor a
slot.
"""

import asyncio
from typing import Any

_MOST_BYTES = 65_536
# A peer that reads more slowly than this counts as not reading.
_BYTES_PER_S = 1024


class BufferedTransport:
    """A transport that holds back writes until the current iteration of the loop ends."""

    __slots__ = (
        "_is_shut",
        "_left",
        "_loop",
        "_ready",
        "_send_s",
        "_size",
        "_transport",
        "_watch",
        "is_closing",
    )

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, *, send_s: float
    ) -> None:
        self._transport = transport
        # Read several times for each request, which `__getattr__` would make expensive.
        self.is_closing = transport.is_closing
        self._loop = loop
        self._send_s = send_s
        self._ready: list[bytes] = []
        self._size = 0
        self._left = 0
        self._is_shut = False
        self._watch: asyncio.TimerHandle | None = None

    def write(self, data: bytes) -> None:
        """Take bytes to send."""
        if not self._ready:
            self._loop.call_soon(self._flush)
        self._ready.append(data)
        self._size += len(data)
        if self._size >= _MOST_BYTES:
            self._flush()

    def write_eof(self) -> None:
        """Send held-back bytes and signal the end; later writes are dropped."""
        self._flush()
        self._is_shut = True
        if not self.is_closing():
            self._transport.write_eof()

    def close(self) -> None:
        """Send held-back bytes, then close."""
        self._flush()
        self._transport.close()
        if self._transport.get_write_buffer_size():
            self.watch()

    def watch(self) -> None:
        """Close the connection if its peer does not read waiting bytes."""
        if self._watch is None:
            self._left = self._transport.get_write_buffer_size()
            self._watch = self._loop.call_later(self._send_s, self._check)

    def stop_watching(self) -> None:
        """End `watch`."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _check(self) -> None:
        self._watch = None
        left = self._transport.get_write_buffer_size()
        if left > self._left - self._send_s * _BYTES_PER_S:
            self._transport.abort()
        else:
            self.watch()

    def _flush(self) -> None:
        if self._is_shut or self.is_closing():
            self._ready, self._size = [], 0
        elif self._ready:
            ready, self._ready, self._size = self._ready, [], 0
            self._transport.write(ready[0] if len(ready) == 1 else b"".join(ready))

    # Any: other attributes that the protocol reads from its transport.
    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
