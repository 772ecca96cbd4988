"""A loopback server that implements Ollama's own API strictly and answers by script.

It serves `/api/chat`, `/api/embed` and `/api/tags`, knows the models it is given (a name without a
tag means `latest`), and keeps every request for tests.
"""

import asyncio
from typing import Any

import msgspec

from hermes.testing.model_script import Script, ScriptedTurn, SeenConversation, answer_by_text
from hermes.testing.ollama_shape import ChatRequest, ShapeError, read_chat, read_embed
from hermes.testing.scripted_http import ReceivedRequest, Sleep
from hermes.testing.turn_server import STREAM_HEAD, TurnFrames, TurnServer, chunk, whole

_HEAD = STREAM_HEAD.replace(b"text/event-stream; charset=utf-8", b"application/x-ndjson")
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


def _refused(status: int, text: str) -> bytes:
    return whole(status, {"error": text})


class OllamaServer(TurnServer):
    """The server; used in a test as `async with OllamaServer() as server`."""

    error = staticmethod(_refused)

    def __init__(
        self,
        script: Script = answer_by_text,
        *,
        models: tuple[str, ...] = ("stand-in-1",),
        key: str | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(script, key=key, sleep=sleep)
        self.requests: list[ReceivedRequest] = []
        self.models = tuple(_tagged(name) for name in models)

    def read(self, call: ReceivedRequest) -> TurnFrames | bytes:
        """Return what is to be played for a request, or its answer at once."""
        self.requests.append(call)
        refusal = self._refusal(call)
        if refusal is not None:
            return _refused(*refusal)
        if call.path == "/api/tags":
            models = [{"name": name, "model": name, "size": 1} for name in self.models]
            return whole(200, {"models": models})
        try:
            return self._respond(call)
        except ShapeError as error:
            return _refused(400, str(error))

    def _refusal(self, received: ReceivedRequest) -> tuple[int, str] | None:
        method = _ROUTES.get(received.path)
        if method is None:
            return 404, "404 page not found"
        if method != received.method:
            return 405, "405 method not allowed"
        if self.is_refused(received):
            return 401, "unauthorized"
        return None

    def _respond(self, received: ReceivedRequest) -> TurnFrames | bytes:
        if received.path == "/api/embed":
            embed = read_embed(received.body)
            vectors = [[float(len(text)), 1.0, 0.5] for text in embed.texts]
            told = {"model": embed.model, "embeddings": vectors, "prompt_eval_count": 3}
            return self._unknown(embed.model) or whole(200, told)
        request = read_chat(received.body)
        return self._unknown(request.model) or self._chat(request)

    def _unknown(self, model: str) -> bytes:
        """Return the refusal of a model that is not there; nothing for one that is."""
        is_known = _tagged(model) in self.models
        return b"" if is_known else _refused(404, f"model '{model}' not found")

    def _chat(self, request: ChatRequest) -> TurnFrames:
        turn = self.next_turn(seen_in(request))
        if turn.fault == "status":
            return TurnFrames(turn, _refused(turn.status, f"scripted failure {turn.status}"))
        told = turn.pieces if turn.fault is None else turn.pieces[: turn.after]
        return TurnFrames(
            turn,
            opening=[_line(request, thinking=turn.reasoning)] if turn.reasoning else (),
            text=[_line(request, content=piece) for piece in told],
            closing=self._closing(request, turn),
            head=_HEAD,
        )

    def _closing(self, request: ChatRequest, turn: ScriptedTurn) -> list[bytes]:
        lines = []
        if turn.tools:
            calls = [
                {
                    "id": f"call_{self.calls}_{index}",
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
        return [*lines, chunk(_encode(end) + b"\n")]


# Any: pieces of a message on their way to the encoder.
def _line(request: ChatRequest, **pieces: Any) -> bytes:
    message = {"role": "assistant", "content": "", **pieces}
    told = {"model": request.model, "created_at": _CREATED, "message": message, "done": False}
    return chunk(_encode(told) + b"\n")


def _tagged(name: str) -> str:
    return name if ":" in name else f"{name}:latest"
