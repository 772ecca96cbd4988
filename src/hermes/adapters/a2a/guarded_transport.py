"""The one HTTP client under the SDK's: every address that a remote agent names is guarded.

It follows no redirect to another host, and reads no more of an answer than its limits.
"""

import re
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import httpx

from hermes.errors import AnswerTooLarge
from hermes.net.client import NO_LIMIT, HttpClient

if TYPE_CHECKING:
    from hermes.net.calls import HttpCall, Response

_MOST_BYTES: Final = 20_000_000
# What begins a value, or parts two: the SDK takes several microseconds for each value, and nothing else
# runs meanwhile. Text has such characters, too.
_MARKS: Final = (b",", b"[", b"{")
_MOST_MARKS: Final = 1_000_000
_MOST_EVENT_MARKS: Final = 50_000
_EVENT_END: Final = re.compile(rb"\n\n|\r\n\r\n")
# An agent thinks for longer than a web page takes.
_IDLE_S: Final = 300.0
# What belongs to the connection, or was taken off already.
_HOP: Final = frozenset(
    {"connection", "content-encoding", "content-length", "host", "transfer-encoding", "user-agent"}
)


class GuardedTransport(httpx.AsyncBaseTransport):
    """Fits httpx: sends the requests of the SDK through `HttpClient`, to one host."""

    def __init__(self, client: HttpClient, *, host: str) -> None:
        self._client = client
        self._host = host

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; raises `NetError`, which passes through the SDK."""
        headers = {name: value for name, value in request.headers.items() if name not in _HOP}
        call = self._client.request(
            "a2a",
            request.method,
            str(request.url),
            headers={**headers, "accept-encoding": "identity"},
            body=await request.aread() or None,
            timeout_s=NO_LIMIT,
            trusted=False,
            may_ask=lambda host: host == self._host,
            idle_s=_IDLE_S,
        )
        response = await call.__aenter__()
        kept = [
            (name, value) for name, value in response.headers.items() if name.lower() not in _HOP
        ]
        return httpx.Response(response.status, headers=kept, stream=_Body(call, response))


class _Body(httpx.AsyncByteStream):
    """The body of an answer; closing it ends the call."""

    def __init__(self, call: "HttpCall", response: "Response") -> None:
        self._call = call
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        weight = _Weight()
        async for piece in self._response.chunks():
            size += len(piece)
            if size > _MOST_BYTES:
                raise AnswerTooLarge(f"a2a: the answer exceeds {_MOST_BYTES} bytes")
            weight.add(piece)
            yield piece

    async def aclose(self) -> None:
        """End the call."""
        await self._call.__aexit__(None, None, None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class _Weight:
    """Counts the values of an answer, and of each event of a stream, before they are read."""

    def __init__(self) -> None:
        self._all = 0
        self._event = 0
        # An end of an event may come in two pieces.
        self._tail = b""

    def add(self, piece: bytes) -> None:
        """Count a piece; raises `AnswerTooLarge`."""
        for number, data in enumerate(events := _EVENT_END.split(self._tail + piece)):
            self._event = self._event if number == 0 else 0
            self._count(_marks_in(data))
        self._tail = events[-1][-3:]
        # It is counted with the next piece.
        self._count(-_marks_in(self._tail))

    def _count(self, marks: int) -> None:
        self._event += marks
        self._all += marks
        if self._event > _MOST_EVENT_MARKS or self._all > _MOST_MARKS:
            raise AnswerTooLarge("a2a: the answer has too many values")


def _marks_in(data: bytes) -> int:
    return sum(map(data.count, _MARKS))
