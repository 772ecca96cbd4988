"""Encodes a scripted turn as a Gemini answer: HTTP heads, event-stream frames, errors. Pure."""

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from hermes.testing.gemini_shape import BatchEmbedRequest, EmbedRequest
from hermes.testing.model_script import ScriptedTurn
from hermes.testing.turn_server import WireAnswer, chunk, whole

_encode = msgspec.json.encode
_DIMENSIONS = 8
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
# The service's signature of a thought: bytes that only it can read.
SIGNATURE = "c2lnbmVkK2J5L3RoZStzdGFuZC1pbj8="

# Any: JSON objects on their way to the encoder.
Json = dict[str, Any]


class Answer(WireAnswer, frozen=True, kw_only=True):
    """One scripted turn as Gemini tells it."""

    signs: bool

    def usage(self) -> Json:
        """Return the token counts; thoughts are counted separately from the candidate."""
        turn = self.turn
        out = self.tokens_out
        counts = {
            "promptTokenCount": self.tokens_in,
            "candidatesTokenCount": max(0, out - turn.reasoning_out),
            "totalTokenCount": self.tokens_in + out,
        }
        if turn.cached_in:
            counts["cachedContentTokenCount"] = turn.cached_in
        if turn.reasoning_out:
            counts["thoughtsTokenCount"] = turn.reasoning_out
        return counts

    def chunk(self, parts: list[Json], *, finish: str | None = None) -> Json:
        """Return one GenerateContentResponse."""
        candidate: Json = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if finish is not None:
            candidate["finishReason"] = finish
        return {
            "candidates": [candidate],
            "usageMetadata": self.usage(),
            "modelVersion": self.model,
            "responseId": self.id,
        }


def error(status: int, message: str, *, details: tuple[Json, ...] = ()) -> bytes:
    """Return an error in Google's shape."""
    said: Json = {"code": status, "message": message, "status": _STATUSES.get(status, "UNKNOWN")}
    if details:
        said["details"] = list(details)
    return whole(status, {"error": said})


def scripted_error(turn: ScriptedTurn) -> bytes:
    """Return the answer of a turn whose fault is a status; the delay is in its details."""
    details: tuple[Json, ...] = ()
    if turn.retry_after is not None:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        details = ({"@type": kind, "retryDelay": f"{turn.retry_after:g}s"},)
    return error(turn.status, f"scripted failure {turn.status}", details=details)


def completion(answer: Answer) -> bytes:
    """Return the answer of a call that did not ask for a stream."""
    parts = [*_thoughts(answer), *([{"text": answer.turn.text}] if answer.turn.text else [])]
    return whole(200, answer.chunk([*parts, *_calls(answer)], finish="STOP"))


def text(answer: Answer) -> Iterator[bytes]:
    """Yield the thoughts, and one frame for each piece of the text that the turn's fault allows."""
    turn = answer.turn
    for part in _thoughts(answer):
        yield _frame(answer.chunk([part]))
    for piece in turn.pieces if turn.fault is None else turn.pieces[: turn.after]:
        yield _frame(answer.chunk([{"text": piece}]))


def closing(answer: Answer) -> Iterator[bytes]:
    """Yield the calls, then the finish reason with the signature of a plain answer."""
    for call in _calls(answer):
        yield _frame(answer.chunk([call]))
    last: Json = {"text": ""}
    if answer.signs and not answer.tools:
        last["thoughtSignature"] = SIGNATURE
    yield _frame(answer.chunk([last], finish="STOP"))


def embeddings(request: BatchEmbedRequest) -> bytes:
    """Return one vector for each text; equal texts have equal vectors."""
    return whole(200, {"embeddings": [{"values": _vector(one)} for one in request.requests]})


def _vector(request: EmbedRequest) -> list[float]:
    digest = hashlib.sha256(request.content.text.encode()).digest()
    size = request.output_dimensionality or _DIMENSIONS
    return [digest[index % len(digest)] / 255 for index in range(size)]


def _thoughts(answer: Answer) -> list[Json]:
    return [{"text": answer.turn.reasoning, "thought": True}] if answer.turn.reasoning else []


def _calls(answer: Answer) -> list[Json]:
    made: list[Json] = []
    for id_, name, arguments in answer.tools:
        call: Json = {"name": name, "args": msgspec.Raw(arguments.encode())}
        if id_:
            call["id"] = id_
        part: Json = {"functionCall": call}
        if answer.signs and not made:
            part["thoughtSignature"] = SIGNATURE
        made.append(part)
    return made


def _frame(told: Json) -> bytes:
    return chunk(b"data: %s\r\n\r\n" % _encode(told))
