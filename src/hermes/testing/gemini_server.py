"""A loopback server that implements Gemini generateContent strictly and answers by script.

It serves `:streamGenerateContent?alt=sse`, `:generateContent` and `:batchEmbedContents` under
`/v1beta` and `/v1`, requires the key in `x-goog-api-key`, and keeps every request for tests. Models
named `gemini-3...` sign their answers and require the signatures back.
"""

import asyncio
import os
import re
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
from hermes.testing.scripted_http import ReceivedRequest, Sleep
from hermes.testing.turn_server import TurnFrames, TurnServer

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


class GeminiServer(TurnServer):
    """The server; used in a test as `async with GeminiServer() as server`.

    Without `ids` its function calls have no id, as with older models.
    """

    error = staticmethod(frames.error)

    def __init__(
        self,
        script: Script = answer_by_text,
        *,
        key: str = "stand-in-key",
        ids: bool = True,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(script, key=key, sleep=sleep)
        self._ids = ids
        self.requests: list[GeminiCall] = []

    def read(self, call: ReceivedRequest) -> TurnFrames | bytes:
        """Return what is to be played for a request, or its answer at once."""
        called = self._called(call)
        if isinstance(called, bytes):
            return called
        try:
            body = read_json(call.body)
            self.requests.append(GeminiCall(call.method, call.path, call.headers, body))
            if called.method == "batchEmbedContents":
                batch = read_embed(call.body)
                check_embed(batch, called.resource)
                return frames.embeddings(batch)
            request = read_generate(call.body)
            check_generate(request, called.model)
        except ShapeError as error:
            return frames.error(400, str(error))
        answer = self._scripted(request, called.model)
        if answer.turn.fault == "status":
            return TurnFrames(answer.turn, frames.scripted_error(answer.turn))
        if called.method == "generateContent":
            return TurnFrames(answer.turn, frames.completion(answer))
        return TurnFrames(answer.turn, text=frames.text(answer), closing=frames.closing(answer))

    def _called(self, head: ReceivedRequest) -> _Call | bytes:
        """Return the called method, or the refusal."""
        path, _, query = head.path.partition("?")
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

    def _scripted(self, request: GenerateRequest, model: str) -> frames.Answer:
        turn = self.next_turn(seen_in(request))
        tools = self.tool_calls(turn, "fc")
        words = sum(content.text.count(" ") + 1 for content in request.contents)
        return frames.Answer(
            turn=turn,
            id=f"response_{os.getpid()}_{self.calls}",
            model=model,
            tokens_in=turn.tokens_in if turn.tokens_in is not None else words,
            signs=model.startswith("gemini-3"),
            tools=tools if self._ids else tuple(("", *call[1:]) for call in tools),
        )
