"""Server-sent events, the serving side: frames, and a stream that detects a disconnected client.

Used by channels that stream a running turn; it knows nothing about turns.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from typing import Any

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
# Registers what is called when the connection is lost, or at once if it is; None unregisters it.
OnLost = Callable[[Callable[[], object] | None], None]
# Scope key of an `OnLost`, under a server that reports a lost connection by itself.
ON_LOST = "hermes.on_lost"


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

    __slots__ = ("_cut_off", "_frames", "_headers", "_keep_alive_s", "_may_go_on")

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
        self._may_go_on = may_go_on
        self._cut_off = cut_off
        self._headers = [
            (name.encode("latin-1"), value.encode("latin-1", "replace"))
            for name, value in (headers or {}).items()
        ]

    async def send(self, receive: Receive, send: Send, *, on_lost: OnLost | None = None) -> None:
        """Send every frame; ends early if the client disconnects.

        A server that reports a lost connection by itself gives `on_lost`; under another server a
        task waits for it.
        """
        await send(
            {"type": "http.response.start", "status": 200, "headers": [*_HEADERS, *self._headers]}
        )
        pump = asyncio.create_task(self._pump(send, on_lost))
        side = _SideTasks(pump)
        if on_lost is None:
            side.start(_until_gone(receive))
        alive = asyncio.get_running_loop().call_later(
            self._keep_alive_s, lambda: side.start(self._stay_alive(send, side))
        )
        last = b""
        try:
            await asyncio.wait((pump,))
        except asyncio.CancelledError:
            if self._cut_off is None or pump.done():
                raise
            last = self._cut_off()
        finally:
            alive.cancel()
            if on_lost is not None:
                on_lost(None)
            is_finished = side.has_ended or (pump.done() and not pump.cancelled())
            pump.cancel()
            await side.close()
            with contextlib.suppress(asyncio.CancelledError):
                await pump
        if is_finished or last:
            await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _pump(self, send: Send, on_lost: OnLost | None) -> None:
        may_go_on, task = self._may_go_on, asyncio.current_task()
        if on_lost is not None and task is not None:
            # Not before this task runs: a pump that is cancelled earlier would never start the
            # frames, and what they do at their end would not be done.
            on_lost(task.cancel)
        async with contextlib.aclosing(self._frames) as frames:
            async for piece in frames:
                if may_go_on is not None and not await may_go_on():
                    return
                if piece:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})

    async def _stay_alive(self, send: Send, side: "_SideTasks") -> None:
        while self._may_go_on is None or await self._may_go_on():
            await send({"type": "http.response.body", "body": KEEP_ALIVE, "more_body": True})
            await asyncio.sleep(self._keep_alive_s)
        side.has_ended = True


class _SideTasks:
    """The tasks beside a stream's pump; the end of any of them ends the pump.

    Most streams need none: they are over before the first comment is due.
    """

    __slots__ = ("_pump", "_tasks", "has_ended")

    def __init__(self, pump: "asyncio.Task[None]") -> None:
        self._pump = pump
        self._tasks: list[asyncio.Task[None]] = []
        # Whether a task found that the stream is complete here.
        self.has_ended = False

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` beside the pump."""
        task = asyncio.create_task(work)
        task.add_done_callback(self._end)
        self._tasks.append(task)

    async def close(self) -> None:
        """End all of them."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _end(self, _task: "asyncio.Task[None]") -> None:
        self._pump.cancel()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
