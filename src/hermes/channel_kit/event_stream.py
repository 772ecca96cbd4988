"""Standing answers: one HTTP call whose answer never ends and brings an event at a time.

For platforms that send server-sent events or lines of JSON. A connection that ends is opened again
from the last event that was kept; the channel says what becomes of an event.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final, Literal

import msgspec
import structlog

from hermes.channel_kit.intake import Sleep, is_passing, pause_s
from hermes.channel_kit.long_poll import MemoryCursor, PollCursor
from hermes.errors import (
    AnswerTooLarge,
    ConnectFailed,
    DeliveryError,
    DeliveryRejected,
    HermesError,
    NetError,
)
from hermes.net.client import NO_LIMIT, HttpClient
from hermes.net.platform_call import PlatformAnswer, failure_of
from hermes.net.retry_after import retry_after

StreamForm = Literal["sse", "ndjson"]
_WAITS_S: Final = (0.2, 0.5, 1.0, 2.0)
_LONGEST_RETRY_S: Final = 30.0
_MAX_EVENT_BYTES: Final = 1_048_576
_REFUSAL_BYTES: Final = 16_384
_ACCEPT: Final[Mapping[StreamForm, str]] = {
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson, application/json",
}
_BOM: Final = b"\xef\xbb\xbf"
_log = structlog.get_logger(__name__)


class StreamEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event: its data, its kind, and the id by which the stream goes on behind it."""

    data: bytes
    kind: str = "message"
    id: str = ""


class SseReader:
    """Makes events of the lines of a stream of server-sent events; one has at most `limit` bytes."""

    def __init__(self, limit: int = _MAX_EVENT_BYTES) -> None:
        self._limit = limit
        self._data: list[bytes] = []
        self._size = 0
        self._kind = ""
        self._id = ""
        self._is_first = True
        self.retry_s: float | None = None

    def read(self, line: bytes) -> StreamEvent | None:
        """Take a line; return the event that it completes."""
        if self._is_first:
            line = line.removeprefix(_BOM)
            self._is_first = False
        if not line:
            return self._complete()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._size += len(value) + 1
            if self._size > self._limit:
                raise AnswerTooLarge(f"one event of the stream exceeds {self._limit} bytes")
            self._data.append(value)
        elif field == b"event":
            self._kind = value.decode("utf-8", "replace")[:200]
        elif field == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif field == b"retry" and value.isdigit() and len(value) < 10:
            self.retry_s = min(_LONGEST_RETRY_S, int(value) / 1000)
        return None

    def _complete(self) -> StreamEvent | None:
        data, kind = self._data, self._kind
        self._data, self._size, self._kind = [], 0, ""
        if not data:
            return None
        return StreamEvent(data=b"\n".join(data), kind=kind or "message", id=self._id)


class EventStreamReader:
    """One standing answer, opened again and again; `run` ends only by raising.

    `address` returns the address to call, of the id of the last event that was kept. `id_of` finds
    the id of a line of JSON; server-sent events name theirs, and it is sent back as `Last-Event-ID`.
    `take` returns once an event is kept or never will be; what it raises that is passing has the
    stream opened again in front of the event.
    """

    def __init__(
        self,
        client: HttpClient,
        address: Callable[[str | None], str],
        take: Callable[[StreamEvent], Awaitable[object]],
        *,
        platform: str,
        form: StreamForm = "sse",
        headers: Mapping[str, str] | None = None,
        id_of: Callable[[bytes], str] = lambda _line: "",
        cursor: PollCursor | None = None,
        silence_s: float = 90.0,
        max_bytes: int = _MAX_EVENT_BYTES,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._client = client
        self._address = address
        self._take = take
        self._platform = platform
        self._form: StreamForm = form
        self._headers = dict(headers or {})
        self._id_of = id_of
        self._cursor = cursor or MemoryCursor()
        self._silence_s = silence_s
        self._max_bytes = max_bytes
        self._sleep = sleep
        self._is_open = asyncio.Event()
        self._retry_s = _WAITS_S[0]
        # Connections in a row that brought nothing, and events in a row that were not taken.
        self._failures = 0
        self._refusals = 0

    async def opened(self) -> None:
        """Return once the platform has answered the first call."""
        await self._is_open.wait()

    async def run(self) -> None:
        """Receive until that is no longer possible; raise why."""
        while True:
            try:
                await self._listen()
            except DeliveryRejected:
                raise
            except (DeliveryError, NetError) as error:
                await self._failed(error)
            except HermesError as error:
                if not is_passing(error):
                    raise
                await self._sleep(pause_s(error, self._refusals))
                self._refusals += 1

    async def _failed(self, error: DeliveryError | NetError) -> None:
        if self._failures >= len(_WAITS_S):
            raise error
        _log.info(
            "channel.stream_ended",
            platform=self._platform,
            problem=str(error),
            failures=self._failures,
        )
        asked_s = error.retry_after if isinstance(error, DeliveryError) else None
        await self._sleep(max(self._retry_s, _WAITS_S[self._failures], asked_s or 0.0))
        self._failures += 1

    async def _listen(self) -> None:
        """Open the stream behind the last kept event and take what it brings; raise at its end."""
        position = await self._cursor.load()
        headers = {"Accept": _ACCEPT[self._form], **self._headers}
        if self._form == "sse" and position is not None:
            headers["Last-Event-ID"] = position
        async with self._client.request(
            self._platform,
            "GET",
            self._address(position),
            headers=headers,
            timeout_s=NO_LIMIT,
            trusted=True,
        ) as response:
            if response.status != 200:
                body = await response.read(_REFUSAL_BYTES)
                wait = retry_after(response.headers)
                answer = PlatformAnswer(status=response.status, body=body, retry_after=wait)
                raise failure_of(answer, platform=self._platform) or ConnectFailed(
                    f"{self._platform}: the stream was answered with {response.status}, expected 200"
                )
            self._is_open.set()
            await self._take_lines(response.lines(self._max_bytes))
        raise ConnectFailed(f"{self._platform}: the stream has ended")

    async def _take_lines(self, lines: AsyncIterator[bytes]) -> None:
        reader = SseReader(self._max_bytes)
        while (line := await self._next(lines)) is not None:
            # Whatever arrives, also a comment, shows that the connection works.
            self._failures = 0
            event = reader.read(line) if self._form == "sse" else self._line_event(line)
            self._retry_s = self._retry_s if reader.retry_s is None else reader.retry_s
            if event is None:
                continue
            await self._take(event)
            self._refusals = 0
            if event.id:
                await self._cursor.keep(event.id)

    async def _next(self, lines: AsyncIterator[bytes]) -> bytes | None:
        try:
            async with asyncio.timeout(self._silence_s):
                return await anext(lines, None)
        except TimeoutError:
            raise ConnectFailed(
                f"{self._platform}: the stream was silent for {self._silence_s:g} s"
            ) from None

    def _line_event(self, line: bytes) -> StreamEvent | None:
        line = line.strip()
        return StreamEvent(data=line, id=self._id_of(line)) if line else None
