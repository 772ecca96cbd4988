"""A loopback server that implements OpenAI chat completions strictly and answers by script.

`python -m hermes.testing.model_server --port 0` prints `{"port": N, ...}` and runs until its
standard input closes. It costs little CPU, so that a benchmark measures Hermes and not its model;
with `--count-file` every call that reached the model writes a line that survives a kill.
"""

import argparse
import asyncio
import hashlib
import os
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import httptools
import msgspec

from hermes.ports.clock import SystemClock
from hermes.testing import openai_frames as frames
from hermes.testing.model_script import (
    Script,
    ScriptedTurn,
    SeenConversation,
    answer_by_text,
    in_order,
)
from hermes.testing.openai_shape import (
    Assistant,
    ChatRequest,
    ShapeError,
    Tool,
    User,
    read_request,
    text_of,
)

Sleep = Callable[[float], Awaitable[None]]

_MAX_BODY = 33_554_432
_PATH = b"/v1/chat/completions"


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """One call that reached the model; `hash` is of the last user text."""

    number: int
    pid: int
    hash: str
    text: str
    users: int
    tool_results: int
    fault: str | None = None


def seen_in(request: ChatRequest) -> SeenConversation:
    """Return what a script may use of `request`."""
    users = [message for message in request.messages if isinstance(message, User)]
    results: list[str] = []
    for message in reversed(request.messages):
        if isinstance(message, Tool):
            results.insert(0, text_of(message.content))
        elif not isinstance(message, Assistant):
            break
    return SeenConversation(len(users), text_of(users[-1].content) if users else "", tuple(results))


def text_hash(text: str) -> str:
    """Return the short hash of a user's text in the count file."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _prompt_tokens(request: ChatRequest) -> int:
    """Return the tokens of a prompt, at four characters each."""
    return sum(len(text_of(message.content)) for message in request.messages) // 4


class ModelServer:
    """The server; used in a test as `async with ModelServer() as server`."""

    def __init__(
        self,
        script: Script = answer_by_text,
        *,
        key: str | None = None,
        count_file: Path | None = None,
        sleep: Sleep = asyncio.sleep,
        created: int = 1_700_000_000,
        context_tokens: int | None = None,
        listener: socket.socket | None = None,
    ) -> None:
        self._script = script
        self._listener = listener
        self._authorization = f"Bearer {key}".encode() if key else None
        self._count_fd = -1
        if count_file is not None:
            self._count_fd = os.open(count_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._created = created
        self._context_tokens = context_tokens
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()
        self.sleep = sleep
        self.invocations: list[Invocation] = []
        self.disconnected = asyncio.Event()
        self.port = 0

    @property
    def base_url(self) -> str:
        """The address to configure as `base_url`."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def start(self, port: int = 0) -> None:
        """Listen on loopback."""
        loop = asyncio.get_running_loop()
        # A given socket may listen in another network namespace.
        place: dict[str, Any] = (
            {"host": "127.0.0.1", "port": port}
            if self._listener is None
            else {"sock": self._listener}
        )
        self._server = await loop.create_server(
            lambda: _Connection(self, self._connections), backlog=1024, **place
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            self._server.close()
        for connection in tuple(self._connections):
            connection.drop()
        if self._count_fd >= 0:
            os.close(self._count_fd)
            self._count_fd = -1

    async def __aenter__(self) -> "ModelServer":
        await self.start()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    def allows(self, authorization: bytes | None) -> bool:
        """Return whether the caller sent the right key."""
        return self._authorization is None or authorization == self._authorization

    def too_long(self, request: ChatRequest) -> str | None:
        """Return the refusal of a prompt that exceeds the context, if it has a limit."""
        held = self._context_tokens
        if held is None or _prompt_tokens(request) <= held:
            return None
        return (
            f"This model's maximum context length is {held} tokens. However, your messages resulted "
            f"in {_prompt_tokens(request)} tokens. Please reduce the length of the messages."
        )

    def invoke(self, request: ChatRequest) -> frames.Answer:
        """Count the call, on disk first, and return its answer."""
        seen = seen_in(request)
        number = len(self.invocations) + 1
        turn = self._script(seen, number)
        made = Invocation(
            number=number,
            pid=os.getpid(),
            hash=text_hash(seen.last_text),
            text=seen.last_text[:200],
            users=seen.user_messages,
            tool_results=len(seen.tool_results),
            fault=turn.fault,
        )
        if self._count_fd >= 0:
            os.write(self._count_fd, msgspec.json.encode(made) + b"\n")
        self.invocations.append(made)
        words = sum(text_of(message.content).count(" ") + 1 for message in request.messages)
        if self._context_tokens is not None:
            words = _prompt_tokens(request)
        return frames.Answer(
            turn=turn,
            id=f"chatcmpl-{number}",
            model=request.model,
            created=self._created,
            tokens_in=turn.tokens_in if turn.tokens_in is not None else words,
            top_logprobs=(request.top_logprobs or 0) if request.logprobs else None,
            tools=tuple(
                (f"call_{os.getpid()}_{number}_{index}", tool.name, tool.arguments)
                for index, tool in enumerate(turn.tools)
            ),
        )


class _Connection(asyncio.Protocol):
    """One client; a turn without waits is answered at once, any other in its own task."""

    def __init__(self, server: ModelServer, connections: "set[_Connection]") -> None:
        self._server = server
        self._connections = connections
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._url = b""
        self._authorization: bytes | None = None
        self._body: list[bytes] = []
        self._size = 0

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
            self._write(frames.error(400, "We could not parse your HTTP request."))
            self.drop()

    def on_message_begin(self) -> None:
        self._url, self._authorization, self._size = b"", None, 0
        self._body.clear()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"authorization":
            self._authorization = value

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size <= _MAX_BODY:
            self._body.append(body)

    def on_message_complete(self) -> None:
        refusal = self._refusal()
        if refusal is not None:
            self._write(refusal)
            return
        try:
            request = read_request(b"".join(self._body))
        except ShapeError as error:
            self._write(frames.error(400, str(error), param=error.param, code=error.code))
            return
        problem = self._server.too_long(request)
        if problem is not None:
            self._write(
                frames.error(400, problem, param="messages", code="context_length_exceeded")
            )
            return
        answer = self._server.invoke(request)
        turn = answer.turn
        if turn.delay_s or turn.gap_s or turn.fault == "hang":
            self._task = asyncio.get_running_loop().create_task(self._slowly(request, answer))
        else:
            self._at_once(request, answer)

    def _refusal(self) -> bytes | None:
        if self._url.partition(b"?")[0] != _PATH:
            return frames.error(404, f"Invalid URL ({self._url.decode(errors='replace')})")
        if self._parser.get_method() != b"POST":
            return frames.error(405, "Not allowed to use this method on /v1/chat/completions")
        if not self._server.allows(self._authorization):
            shown = (self._authorization or b"").decode(errors="replace").removeprefix("Bearer ")
            return frames.error(
                401, f"Incorrect API key provided: {shown}.", code="invalid_api_key"
            )
        if self._size > _MAX_BODY:
            return frames.error(413, "Request too large")
        return None

    def _at_once(self, request: ChatRequest, answer: frames.Answer) -> None:
        turn = answer.turn
        if turn.fault == "status":
            self._write(frames.scripted_error(turn))
            return
        if not request.stream:
            self._write(frames.completion(answer))
            return
        usage = request.stream_options is not None and request.stream_options.include_usage
        self._write(frames.STREAM_HEAD)
        for frame in (*frames.opening(answer, usage=usage), *frames.text(answer, usage=usage)):
            self._write(frame)
        self._finish(answer, usage=usage)

    def _finish(self, answer: frames.Answer, *, usage: bool) -> None:
        if answer.turn.fault == "cut":
            self._break()
            return
        if answer.turn.fault is None:
            for frame in frames.closing(answer, usage=usage):
                self._write(frame)
        self._write(frames.STREAM_END)

    async def _slowly(self, request: ChatRequest, answer: frames.Answer) -> None:
        turn, sleep = answer.turn, self._server.sleep
        await sleep(turn.delay_s)
        if turn.fault == "status" or not request.stream:
            self._task = None
            self._at_once(request, answer)
            return
        usage = request.stream_options is not None and request.stream_options.include_usage
        self._write(frames.STREAM_HEAD)
        for frame in frames.opening(answer, usage=usage):
            self._write(frame)
        for frame in frames.text(answer, usage=usage):
            self._write(frame)
            if turn.gap_s:
                await sleep(turn.gap_s)
        if turn.fault == "hang":
            await asyncio.Event().wait()
        self._task = None
        self._finish(answer, usage=usage)

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def _break(self) -> None:
        """Close without the end of the chunked body, after everything written was sent."""
        if self._transport is not None:
            self._transport.close()


class ScriptFile(msgspec.Struct, frozen=True):
    """The contents of `--script FILE`: turns in order; after them the directives in the text
    decide.
    """

    turns: tuple[ScriptedTurn, ...]


def _script_from(options: argparse.Namespace) -> Script:
    if options.script is not None:
        return in_order(msgspec.json.decode(options.script.read_bytes(), type=ScriptFile).turns)
    delay_s, gap_s = options.delay_ms / 1000, options.gap_ms / 1000
    if options.text is None and not delay_s and not gap_s and options.deltas == 1:
        return answer_by_text

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if "[[" in seen.last_text:
            return answer_by_text(seen, number)
        text = options.text if options.text is not None else answer_by_text(seen, number).text
        text = text.ljust(options.deltas, ".")
        return ScriptedTurn(text=text, deltas=options.deltas, delay_s=delay_s, gap_s=gap_s)

    return script


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes any free one")
    parser.add_argument("--script", type=Path, help='a JSON file: {"turns": [{"text": "..."}]}')
    parser.add_argument("--delay-ms", type=float, default=0, help="wait before every answer")
    parser.add_argument("--gap-ms", type=float, default=0, help="wait after every delta")
    parser.add_argument("--deltas", type=int, default=1, help="number of pieces of a text")
    parser.add_argument("--text", help="the answer to every message without a directive")
    parser.add_argument(
        "--context-tokens", type=int, help="refuse longer prompts, at four characters to a token"
    )
    parser.add_argument("--key", help="the API key that callers must send")
    parser.add_argument(
        "--count-file", type=Path, help="the file to which every call appends a JSON line"
    )
    return parser.parse_args(arguments)


async def serve(options: argparse.Namespace) -> None:
    """Run the server until standard input closes."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def wait_for_end() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        loop.call_soon_threadsafe(ended.set)

    server = ModelServer(
        _script_from(options),
        key=options.key,
        count_file=options.count_file,
        created=int(SystemClock().now()),
        context_tokens=options.context_tokens,
    )
    await server.start(options.port)
    where = {"port": server.port, "base_url": server.base_url, "pid": os.getpid()}
    sys.stdout.buffer.write(msgspec.json.encode(where) + b"\n")
    sys.stdout.buffer.flush()
    threading.Thread(target=wait_for_end, daemon=True).start()
    await ended.wait()
    await server.close()


def main(arguments: list[str] | None = None) -> None:
    """Run the server with uvloop if it is installed."""
    options = _options(arguments)
    try:
        import uvloop  # noqa: PLC0415 - optional, and only this program wants it
    except ImportError:
        asyncio.run(serve(options))
    else:
        uvloop.run(serve(options))


if __name__ == "__main__":
    main()
