"""The HTTP side of the model servers: it reads requests and plays scripted turns as their answers.

It costs little CPU, so that a benchmark measures Hermes and not its model. A dialect says in `read`
what a request must look like, and gives the frames of its answer.
"""

import asyncio
import os
import socket
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from http.client import responses
from typing import Any, ClassVar, Final, NamedTuple, Self

import msgspec

from hermes.testing.model_script import Script, ScriptedTurn, SeenConversation, answer_by_text
from hermes.testing.scripted_http import HttpConnection, ReceivedRequest, Sleep

STREAM_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
)
STREAM_END: Final = b"0\r\n\r\n"


class TurnFrames(NamedTuple):
    """The answer of a turn: `whole`, or as a stream the frames before its text, of it, and after."""

    turn: ScriptedTurn
    whole: bytes = b""
    opening: Iterable[bytes] = ()
    text: Iterable[bytes] = ()
    closing: Iterable[bytes] = ()
    head: bytes = STREAM_HEAD


def whole(status: int, body: object, *, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    """Return a complete JSON answer."""
    encoded = msgspec.json.encode(body)
    extra = "".join(f"{name}: {value}\r\n" for name, value in headers)
    head = (
        f"HTTP/1.1 {status} {responses.get(status, 'Status')}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(encoded)}\r\n{extra}\r\n"
    )
    return head.encode() + encoded


def chunk(data: bytes) -> bytes:
    """Return one frame of a stream."""
    return b"%x\r\n%s\r\n" % (len(data), data)


class WireAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One scripted turn with what every wire tells of it; `tools` are (id, name, arguments)."""

    turn: ScriptedTurn
    id: str
    model: str
    tokens_in: int
    tools: tuple[tuple[str, str, str], ...] = ()

    @property
    def tokens_out(self) -> int:
        """How many tokens the model wrote."""
        told = self.turn.tokens_out
        return told if told is not None else max(1, len(self.turn.pieces))


class TurnServer(ABC):
    """The server; used in a test as `async with ... as server`.

    With a `key` only callers that show it are answered. `error` returns a refusal in the words of the
    dialect, by its status and a text.
    """

    base_path = ""
    error: ClassVar[Callable[..., bytes]]

    def __init__(
        self,
        script: Script = answer_by_text,
        *,
        key: str | None = None,
        sleep: Sleep = asyncio.sleep,
        listener: socket.socket | None = None,
    ) -> None:
        self._script = script
        self.key = key
        self.calls = 0
        self._listener = listener
        self._server: asyncio.Server | None = None
        self.connections: set[_Connection] = set()
        self.sleep = sleep
        self.disconnected = asyncio.Event()
        self.port = 0

    @property
    def origin(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """The address to configure as `base_url`."""
        return f"{self.origin}{self.base_path}"

    def next_turn(self, seen: SeenConversation) -> ScriptedTurn:
        """Count a call; return its answer."""
        self.calls += 1
        return self._script(seen, self.calls)

    def tool_calls(self, turn: ScriptedTurn, kind: str) -> tuple[tuple[str, str, str], ...]:
        """Return the tool calls of an answer, with ids that are unique on this machine."""
        made = f"{kind}_{os.getpid()}_{self.calls}"
        return tuple(
            (f"{made}_{index}", tool.name, tool.arguments) for index, tool in enumerate(turn.tools)
        )

    def is_refused(self, call: ReceivedRequest) -> bool:
        """Whether a call does not show the key as a bearer."""
        shown = call.headers.get("authorization")
        return self.key is not None and shown != f"Bearer {self.key}"

    @abstractmethod
    def read(self, call: ReceivedRequest) -> TurnFrames | bytes:
        """Return what is to be played for a request, or its answer at once."""

    async def start(self, port: int = 0) -> None:
        """Listen on loopback."""
        loop = asyncio.get_running_loop()
        # A given socket may listen in another network namespace.
        place: dict[str, Any] = (
            {"host": "127.0.0.1", "port": port}
            if self._listener is None
            else {"sock": self._listener}
        )
        self._server = await loop.create_server(lambda: _Connection(self), backlog=1024, **place)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            self._server.close()
        for connection in tuple(self.connections):
            connection.out.abort()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()


class _Connection(HttpConnection):
    """One client; a turn without waits is answered at once, any other in its own task."""

    def __init__(self, server: TurnServer) -> None:
        super().__init__(server.connections)
        self._server = server
        self._task: asyncio.Task[None] | None = None

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        if self._task is not None:
            self._task.cancel()
            self._server.disconnected.set()

    def garbled(self) -> None:
        self.out.raw(self._server.error(400, "The request is not valid HTTP."))
        self.out.abort()

    def received(self, request: ReceivedRequest) -> None:
        found = self._server.read(request)
        if isinstance(found, bytes):
            self.out.raw(found)
        elif found.turn.delay_s or found.turn.gap_s or found.turn.fault == "hang":
            self._task = asyncio.get_running_loop().create_task(self._slowly(found))
        else:
            self._at_once(found)

    def _at_once(self, answer: TurnFrames) -> None:
        if answer.whole:
            self.out.raw(answer.whole)
            return
        for frame in (answer.head, *answer.opening, *answer.text):
            self.out.raw(frame)
        self._finish(answer)

    def _finish(self, answer: TurnFrames) -> None:
        if answer.turn.fault == "cut":
            self.out.cut()
            return
        if answer.turn.fault is None:
            for frame in answer.closing:
                self.out.raw(frame)
        self.out.end()

    async def _slowly(self, answer: TurnFrames) -> None:
        turn, sleep = answer.turn, self._server.sleep
        await sleep(turn.delay_s)
        if answer.whole:
            self._task = None
            self._at_once(answer)
            return
        for frame in (answer.head, *answer.opening):
            self.out.raw(frame)
        for frame in answer.text:
            self.out.raw(frame)
            if turn.gap_s:
                await sleep(turn.gap_s)
        if turn.fault == "hang":
            await asyncio.Event().wait()
        self._task = None
        self._finish(answer)


async def serve(server: TurnServer, *, port: int) -> None:
    """Run a server until standard input closes; print where it is as JSON."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def wait_for_end() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        loop.call_soon_threadsafe(ended.set)

    await server.start(port)
    where = {"port": server.port, "base_url": server.base_url, "pid": os.getpid()}
    sys.stdout.buffer.write(msgspec.json.encode(where) + b"\n")
    sys.stdout.buffer.flush()
    threading.Thread(target=wait_for_end, daemon=True).start()
    await ended.wait()
    await server.close()
