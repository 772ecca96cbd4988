"""Server-sent events, the serving side: frames, and a stream that detects a disconnected client.

Used by channels that stream a running turn; it knows nothing about turns.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

import msgspec
from starlette.types import Receive, Send

_encode = msgspec.json.Encoder().encode

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-accel-buffering", b"no"),
]
KEEP_ALIVE = b": keep-alive\n\n"


def frame(event: str, data: object) -> bytes:
    """Return one event; its data is a single line of JSON."""
    return b"event: %b\ndata: %b\n\n" % (event.encode(), _encode(data))


def wants_events(headers: Mapping[str, str]) -> bool:
    """Return whether the client asks for a stream of events."""
    return "text/event-stream" in headers.get("accept", "").lower()


class EventStream:
    """A streaming answer: frames, sent as they come, with comments during silence.

    `may_go_on` is called before every frame and every comment; the stream ends if it returns false.
    `cut_off` returns the last frames of a stream that the server ends early.
    """

    def __init__(
        self,
        frames: AsyncGenerator[bytes, None],
        *,
        keep_alive_s: float,
        headers: Mapping[str, str] | None = None,
        may_go_on: Callable[[], Awaitable[bool]] | None = None,
        cut_off: Callable[[], bytes] | None = None,
    ) -> None:
        self._frames = frames
        self._keep_alive_s = keep_alive_s
        self._may_go_on = may_go_on or _always
        self._cut_off = cut_off
        self._headers = [
            (name.encode("latin-1"), value.encode("latin-1", "replace"))
            for name, value in (headers or {}).items()
        ]

    async def send(self, receive: Receive, send: Send) -> None:
        """Send every frame; ends early if the client disconnects."""
        await send(
            {"type": "http.response.start", "status": 200, "headers": [*_HEADERS, *self._headers]}
        )
        pump = asyncio.create_task(self._pump(send))
        gone = asyncio.create_task(_until_gone(receive))
        alive = asyncio.create_task(self._stay_alive(send))
        last = b""
        try:
            await asyncio.wait({pump, gone, alive}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if self._cut_off is None or pump.done():
                raise
            last = self._cut_off()
        finally:
            is_finished = pump.done() or (alive.done() and alive.exception() is None)
            for task in (pump, gone, alive):
                task.cancel()
            await asyncio.gather(gone, alive, return_exceptions=True)
            with contextlib.suppress(asyncio.CancelledError):
                await pump
        if is_finished or last:
            await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _pump(self, send: Send) -> None:
        async with contextlib.aclosing(self._frames) as frames:
            async for piece in frames:
                if not await self._may_go_on():
                    return
                if piece:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})

    async def _stay_alive(self, send: Send) -> None:
        while True:
            await asyncio.sleep(self._keep_alive_s)
            if not await self._may_go_on():
                return
            await send({"type": "http.response.body", "body": KEEP_ALIVE, "more_body": True})


async def _always() -> bool:
    return True


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
