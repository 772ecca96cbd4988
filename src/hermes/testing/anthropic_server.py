"""A loopback server that implements Anthropic Messages strictly and answers by script.

`python -m hermes.testing.anthropic_server --port 0` prints `{"port": N, ...}` and runs until its
standard input closes.
"""

import argparse
import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import cast

import httptools
import msgspec

from hermes.testing import anthropic_frames as frames
from hermes.testing.anthropic_shape import (
    MessagesRequest,
    ShapeError,
    User,
    read_request,
    results_of,
    text_of,
)
from hermes.testing.model_script import Script, SeenConversation, answer_by_text

Sleep = Callable[[float], Awaitable[None]]
Headers = dict[str, str]

_MAX_BODY = 33_554_432
_PATH = b"/v1/messages"
_VERSIONS = frozenset({"2023-01-01", "2023-06-01", "2026-10-21"})
_OAUTH_BETA = "oauth-2025-04-20"


class Refusal(Exception):
    """The head of a request would be refused with `status`."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Invocation(msgspec.Struct, frozen=True):
    """One call that reached the model; `body` is what was sent, byte for byte."""

    number: int
    request: MessagesRequest
    headers: Headers
    body: bytes


def seen_in(request: MessagesRequest) -> SeenConversation:
    """Return what a script may use of `request`."""
    users = [message for message in request.messages if isinstance(message, User)]
    asking = [message for message in users if len(results_of(message)) < len(message.content)]
    results = tuple(
        result.content if isinstance(result.content, str) else text_of(result.content)
        for result in results_of(users[-1])
    )
    return SeenConversation(len(asking), text_of(asking[-1].content) if asking else "", results)


class AnthropicServer:
    """The server; used in a test as `async with AnthropicServer() as server`.

    With a `key` only that credential is accepted, without one any.
    """

    def __init__(
        self,
        script: Script = answer_by_text,
        *,
        key: str | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._script = script
        self._key = key
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()
        self.sleep = sleep
        self.invocations: list[Invocation] = []
        self.disconnected = asyncio.Event()
        self.port = 0

    @property
    def base_url(self) -> str:
        """The address to configure as `base_url`."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self, port: int = 0) -> None:
        """Listen on loopback."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self, self._connections), "127.0.0.1", port, backlog=1024
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            self._server.close()
        for connection in tuple(self._connections):
            connection.drop()

    async def __aenter__(self) -> "AnthropicServer":
        await self.start()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    def check_head(self, headers: Headers) -> None:
        """Raise `Refusal` for a request without the headers that every call needs."""
        version = headers.get("anthropic-version")
        if version is None:
            raise Refusal(400, "anthropic-version: header is required")
        if version not in _VERSIONS:
            raise Refusal(400, f'anthropic-version: "{version}" is not a valid version')
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        shown = headers.get("x-api-key") or bearer
        if not shown:
            raise Refusal(401, "x-api-key header is required")
        if self._key is not None and shown != self._key:
            raise Refusal(401, f"invalid x-api-key: {shown}")
        is_oauth = "x-api-key" not in headers and not bearer.startswith("sk-ant-api")
        if is_oauth and _OAUTH_BETA not in headers.get("anthropic-beta", "").split(","):
            raise Refusal(401, "OAuth authentication is currently not supported.")

    def invoke(self, request: MessagesRequest, headers: Headers, *, body: bytes) -> frames.Answer:
        """Count the call and return its answer."""
        seen = seen_in(request)
        number = len(self.invocations) + 1
        turn = self._script(seen, number)
        self.invocations.append(Invocation(number, request, headers, body))
        words = sum(text_of(message.content).count(" ") + 1 for message in request.messages)
        return frames.Answer(
            turn=turn,
            id=f"msg_{number}",
            model=request.model,
            tokens_in=turn.tokens_in if turn.tokens_in is not None else words,
            tools=tuple(
                (f"toolu_{os.getpid()}_{number}_{index}", tool.name, tool.arguments)
                for index, tool in enumerate(turn.tools)
            ),
        )


class _Connection(asyncio.Protocol):
    """One client; a turn without waits is answered at once, any other in its own task."""

    def __init__(self, server: AnthropicServer, connections: "set[_Connection]") -> None:
        self._server = server
        self._connections = connections
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._url = b""
        self._headers: Headers = {}
        self._body = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # cast: a stream server always passes a stream transport; uvloop's has no common base.
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)

    def connection_lost(self, _error: Exception | None) -> None:
        self._connections.discard(self)
        self._transport = None
        if self._task is not None:
            self._task.cancel()
            self._server.disconnected.set()

    def drop(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._write(frames.error(400, "The request is not valid HTTP."))
            self.drop()

    def on_message_begin(self) -> None:
        self._url, self._headers = b"", {}
        self._body.clear()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode().lower()] = value.decode(errors="replace")

    def on_body(self, body: bytes) -> None:
        if len(self._body) <= _MAX_BODY:
            self._body += body

    def on_message_complete(self) -> None:
        try:
            request = self._request()
        except Refusal as refusal:
            self._write(frames.error(refusal.status, str(refusal)))
            return
        except ShapeError as error:
            self._write(frames.error(400, str(error)))
            return
        answer = self._server.invoke(request, self._headers, body=bytes(self._body))
        turn = answer.turn
        if turn.delay_s or turn.gap_s or turn.fault == "hang":
            self._task = asyncio.get_running_loop().create_task(self._slowly(request, answer))
        else:
            self._at_once(request, answer)

    def _request(self) -> MessagesRequest:
        if self._url.partition(b"?")[0] != _PATH:
            raise Refusal(404, "Not found")
        if self._parser.get_method() != b"POST":
            raise Refusal(405, "Method Not Allowed")
        self._server.check_head(self._headers)
        if len(self._body) > _MAX_BODY:
            raise Refusal(413, "Request exceeds the maximum allowed number of bytes.")
        return read_request(bytes(self._body))

    def _at_once(self, request: MessagesRequest, answer: frames.Answer) -> None:
        if answer.turn.fault == "status":
            self._write(frames.scripted_error(answer.turn))
        elif not request.stream:
            self._write(frames.completion(answer))
        else:
            self._write(frames.STREAM_HEAD)
            self._write(b"".join((*frames.opening(answer), *frames.text(answer))))
            self._finish(answer)

    def _finish(self, answer: frames.Answer) -> None:
        if answer.turn.fault == "cut":
            self._break()
            return
        if answer.turn.fault is None:
            self._write(b"".join(frames.closing(answer)))
        self._write(frames.STREAM_END)

    async def _slowly(self, request: MessagesRequest, answer: frames.Answer) -> None:
        turn, sleep = answer.turn, self._server.sleep
        await sleep(turn.delay_s)
        if turn.fault == "status" or not request.stream:
            self._task = None
            self._at_once(request, answer)
            return
        self._write(frames.STREAM_HEAD)
        for frame in frames.opening(answer):
            self._write(frame)
        for frame in frames.text(answer):
            self._write(frame)
            if turn.gap_s:
                await sleep(turn.gap_s)
        if turn.fault == "hang":
            await asyncio.Event().wait()
        self._task = None
        self._finish(answer)

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def _break(self) -> None:
        """Close without the end of the chunked body, after everything written was sent."""
        if self._transport is not None:
            self._transport.close()


async def serve(*, port: int, key: str | None) -> None:
    """Run the server until standard input closes."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def wait_for_end() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        loop.call_soon_threadsafe(ended.set)

    server = AnthropicServer(key=key)
    await server.start(port)
    where = {"port": server.port, "base_url": server.base_url, "pid": os.getpid()}
    sys.stdout.buffer.write(msgspec.json.encode(where) + b"\n")
    sys.stdout.buffer.flush()
    threading.Thread(target=wait_for_end, daemon=True).start()
    await ended.wait()
    await server.close()


def main(arguments: list[str] | None = None) -> None:
    """Run the server as a program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes any free one")
    parser.add_argument("--key", help="the credential that callers must show")
    options = parser.parse_args(arguments)
    asyncio.run(serve(port=options.port, key=options.key))


if __name__ == "__main__":
    main()
