"""A loopback server that implements Ollama's own API strictly and answers by script.

It serves `/api/chat`, `/api/embed` and `/api/tags`, knows the models it is given (a name without a
tag means `latest`), and keeps every request for tests.
"""

import asyncio
from typing import Any

import msgspec

from hermes.testing.model_script import Script, ScriptedTurn, SeenConversation, answer_by_text
from hermes.testing.ollama_shape import ChatRequest, ShapeError, read_chat, read_embed
from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp, Sleep, play

_STREAM = "application/x-ndjson"
_CREATED = "2026-11-15T10:00:00Z"
_ROUTES = {"/api/chat": "POST", "/api/embed": "POST", "/api/tags": "GET"}
_encode = msgspec.json.encode


def seen_in(request: ChatRequest) -> SeenConversation:
    """Return what a script may use of `request`."""
    users = [message for message in request.messages if message.role == "user"]
    results: list[str] = []
    for message in reversed(request.messages):
        if message.role == "tool":
            results.insert(0, message.content)
        elif message.role != "assistant":
            break
    return SeenConversation(len(users), users[-1].content if users else "", tuple(results))


class OllamaServer(ScriptedHttp):
    """The server; used in a test as `async with OllamaServer() as server`."""

    def __init__(
        self,
        script: Script = answer_by_text,
        *,
        models: tuple[str, ...] = ("stand-in-1",),
        key: str | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(self._answer)
        self._script = script
        self._sleep = sleep
        self._authorization = None if key is None else f"Bearer {key}"
        self._calls = 0
        self.models = tuple(_tagged(name) for name in models)

    @property
    def base_url(self) -> str:
        """The address to configure as `base_url`."""
        return self.origin

    async def __aenter__(self) -> "OllamaServer":
        await super().__aenter__()
        return self

    async def _answer(self, received: ReceivedRequest, out: Out) -> None:
        refusal = self._refusal(received)
        if refusal is not None:
            _refuse(out, refusal[0], refusal[1])
        elif received.path == "/api/tags":
            models = [{"name": name, "model": name, "size": 1} for name in self.models]
            out.whole(200, _encode({"models": models}))
        else:
            try:
                await self._respond(received, out)
            except ShapeError as error:
                _refuse(out, 400, str(error))

    def _refusal(self, received: ReceivedRequest) -> tuple[int, str] | None:
        method = _ROUTES.get(received.path)
        if method is None:
            return 404, "404 page not found"
        if method != received.method:
            return 405, "405 method not allowed"
        if self._authorization and received.headers.get("authorization") != self._authorization:
            return 401, "unauthorized"
        return None

    async def _respond(self, received: ReceivedRequest, out: Out) -> None:
        if received.path == "/api/embed":
            embed = read_embed(received.body)
            if self._has(embed.model, out):
                vectors = [[float(len(text)), 1.0, 0.5] for text in embed.texts]
                told = {"model": embed.model, "embeddings": vectors, "prompt_eval_count": 3}
                out.whole(200, _encode(told))
            return
        request = read_chat(received.body)
        if self._has(request.model, out):
            await self._chat(request, out)

    def _has(self, model: str, out: Out) -> bool:
        if _tagged(model) in self.models:
            return True
        _refuse(out, 404, f"model '{model}' not found")
        return False

    async def _chat(self, request: ChatRequest, out: Out) -> None:
        self._calls += 1
        turn = self._script(seen_in(request), self._calls)
        if turn.delay_s:
            await self._sleep(turn.delay_s)
        if turn.fault == "status":
            _refuse(out, turn.status, f"scripted failure {turn.status}")
            return
        await play(
            out,
            turn,
            kind=_STREAM,
            sleep=self._sleep,
            opening=_thinking(request, turn),
            pieces=[_line(request, content=piece) for piece in turn.pieces],
            closing=self._closing(request, turn),
        )

    def _closing(self, request: ChatRequest, turn: ScriptedTurn) -> list[bytes]:
        lines = []
        if turn.tools:
            calls = [
                {
                    "id": f"call_{self._calls}_{index}",
                    "function": {
                        "index": index,
                        "name": tool.name,
                        "arguments": msgspec.json.decode(tool.arguments),
                    },
                }
                for index, tool in enumerate(turn.tools)
            ]
            lines.append(_line(request, tool_calls=calls))
        words = sum(message.content.count(" ") + 1 for message in request.messages)
        end = {
            "model": request.model,
            "created_at": _CREATED,
            "message": {"role": "assistant", "content": ""},
            "done": True,
            "done_reason": "stop",
            "total_duration": 5_000_000,
            "load_duration": 1_000_000,
            "prompt_eval_count": words if turn.tokens_in is None else turn.tokens_in,
            "prompt_eval_duration": 1_000_000,
            "eval_count": turn.tokens_out or max(1, len(turn.pieces)),
            "eval_duration": 3_000_000,
        }
        return [*lines, _encode(end) + b"\n"]


def _thinking(request: ChatRequest, turn: ScriptedTurn) -> list[bytes]:
    return [_line(request, thinking=turn.reasoning)] if turn.reasoning else []


# Any: pieces of a message on their way to the encoder.
def _line(request: ChatRequest, **pieces: Any) -> bytes:
    message = {"role": "assistant", "content": "", **pieces}
    told = {"model": request.model, "created_at": _CREATED, "message": message, "done": False}
    return _encode(told) + b"\n"


def _refuse(out: Out, status: int, text: str) -> None:
    out.whole(status, _encode({"error": text}))


def _tagged(name: str) -> str:
    return name if ":" in name else f"{name}:latest"
