"""A loopback server that implements Gemini generateContent strictly and answers by script.

It serves `:streamGenerateContent?alt=sse`, `:generateContent` and `:batchEmbedContents` under
`/v1beta` and `/v1`, requires the key in `x-goog-api-key`, and keeps every request for tests. Models
named `gemini-3...` sign their answers and require the signatures back.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from hermes.testing import gemini_frames as frames
from hermes.testing.gemini_rules import check_embed, check_generate
from hermes.testing.gemini_shape import (
    GenerateRequest,
    ShapeError,
    read_embed,
    read_generate,
    read_json,
)
from hermes.testing.model_script import Script, SeenConversation, answer_by_text

Sleep = Callable[[float], Awaitable[None]]

_MAX_HEAD = 65_536
_PATH = re.compile(r"/(v1beta|v1)/((?:models|tunedModels)/([^/:]+)):(\w+)")
_METHODS = frozenset({"streamGenerateContent", "generateContent", "batchEmbedContents"})
_BAD_KEY = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "API_KEY_INVALID",
    "domain": "googleapis.com",
}


class GeminiCall(msgspec.Struct, frozen=True):
    """One request as received; `body` is its JSON, `headers` have lower-case names."""

    method: str
    target: str
    headers: dict[str, str]
    # Any: JSON of the caller's.
    body: dict[str, Any]


class _Head(msgspec.Struct, frozen=True):
    method: str
    target: str
    headers: dict[str, str]


class _Call(msgspec.Struct, frozen=True):
    resource: str
    model: str
    method: str


def seen_in(request: GenerateRequest) -> SeenConversation:
    """Return what a script may use of `request`."""
    asked = [c for c in request.contents if c.role == "user" and not c.responses]
    results: list[str] = []
    for content in reversed(request.contents):
        if content.responses:
            results[:0] = [str(next(iter(r.response.values()), "")) for r in content.responses]
        elif content.role == "user":
            break
    return SeenConversation(len(asked), asked[-1].text if asked else "", tuple(results))


class GeminiServer:
    """The server; used in a test as `async with GeminiServer() as server`.

    Without `ids` its function calls have no id, as with older models.
    """

    def __init__(
        self,
        script: Script = answer_by_text,
        *,
        key: str = "stand-in-key",
        ids: bool = True,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._script = script
        self._ids = ids
        self._sleep = sleep
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self.key = key
        self.requests: list[GeminiCall] = []
        self.calls = 0
        self.disconnected = asyncio.Event()
        self.port = 0

    @property
    def base_url(self) -> str:
        """The address to configure as `base_url`."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> "GeminiServer":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_MAX_HEAD)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_error: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in tuple(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (head := await _read_head(reader)) is not None:
                body = await reader.readexactly(int(head.headers.get("content-length", "0")))
                await self._answer(head, body, reader=reader, writer=writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.disconnected.set()
        finally:
            writer.close()

    async def _answer(
        self,
        head: _Head,
        body: bytes,
        *,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        call = self._called(head)
        if isinstance(call, bytes):
            writer.write(call)
            return
        try:
            self.requests.append(
                GeminiCall(head.method, head.target, head.headers, read_json(body))
            )
            if call.method == "batchEmbedContents":
                batch = read_embed(body)
                check_embed(batch, call.resource)
                writer.write(frames.embeddings(batch))
                return
            request = read_generate(body)
            check_generate(request, call.model)
        except ShapeError as error:
            writer.write(frames.error(400, str(error)))
            return
        await self._generate(call, request, reader=reader, writer=writer)

    def _called(self, head: _Head) -> _Call | bytes:
        """Return the called method, or the refusal."""
        path, _, query = head.target.partition("?")
        found = _PATH.fullmatch(path)
        if head.method != "POST" or found is None or found[4] not in _METHODS:
            return frames.error(404, f"{head.method} {path} is not found.")
        if query != ("alt=sse" if found[4] == "streamGenerateContent" else ""):
            return frames.error(400, f"Invalid JSON payload received. Cannot bind query {query!r}.")
        shown = head.headers.get("x-goog-api-key")
        if shown is None:
            return frames.error(
                403,
                "Method doesn't allow unregistered callers (callers without established identity)."
                " Please use API Key or other form of API consumer identity to call this API.",
            )
        if shown != self.key:
            said = f"API key not valid: {shown}. Please pass a valid API key."
            return frames.error(400, said, details=(_BAD_KEY,))
        return _Call(found[2], found[3], found[4])

    async def _generate(
        self,
        call: _Call,
        request: GenerateRequest,
        *,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        answer = self._scripted(request, call.model)
        turn = answer.turn
        if turn.delay_s:
            await self._sleep(turn.delay_s)
        if turn.fault == "status":
            writer.write(frames.scripted_error(turn))
            return
        if call.method == "generateContent":
            writer.write(frames.completion(answer))
            return
        writer.write(frames.STREAM_HEAD)
        for frame in frames.text(answer):
            writer.write(frame)
            if turn.gap_s:
                await self._sleep(turn.gap_s)
        await self._finish(answer, reader=reader, writer=writer)

    async def _finish(
        self, answer: frames.Answer, *, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        fault = answer.turn.fault
        if fault == "hang":
            # A waiting client sends nothing: an empty read means that it has left.
            await reader.readexactly(1)
        if fault == "cut":
            writer.close()
            return
        if fault is None:
            writer.writelines(frames.closing(answer))
        writer.write(frames.STREAM_END)

    def _scripted(self, request: GenerateRequest, model: str) -> frames.Answer:
        self.calls += 1
        seen = seen_in(request)
        turn = self._script(seen, self.calls)
        words = sum(content.text.count(" ") + 1 for content in request.contents)
        made = f"{os.getpid()}_{self.calls}"
        return frames.Answer(
            turn=turn,
            id=f"response_{made}",
            model=model,
            tokens_in=turn.tokens_in if turn.tokens_in is not None else words,
            signs=model.startswith("gemini-3"),
            tools=tuple(
                (f"fc_{made}_{index}" if self._ids else "", tool.name, tool.arguments)
                for index, tool in enumerate(turn.tools)
            ),
        )


async def _read_head(reader: asyncio.StreamReader) -> _Head | None:
    """Return the head of the next request; None if the client has left between two."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    first, *lines = raw.decode("latin-1").rstrip().split("\r\n")
    method, target, _version = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    return _Head(method, target, {name.lower(): value.strip() for name, _, value in pairs})
