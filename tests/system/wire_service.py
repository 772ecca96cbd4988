"""One loopback service that speaks every model wire and gives the answer that a test sets.

Its first path segment is the wire. Errors have the shape of each service.
"""

from typing import Any

import msgspec

from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp
from tests.system.upstream_stories import TOLD
from tests.system.wire_kinds import Kind, ServiceError

# Any: JSON of every shape.
Json = dict[str, Any]
_EVENTS, _LINES = "text/event-stream", "application/x-ndjson"
_ERROR_TEXT = "it does not like this"


class WireService:
    """The service; `kind` is what it answers now."""

    def __init__(self) -> None:
        self.kind = Kind()

    def server(self) -> ScriptedHttp:
        """Return the server to run."""
        return ScriptedHttp(self._handle)

    async def _handle(self, received: ReceivedRequest, out: Out) -> None:
        wire, kind = received.path.split("/")[1], self.kind
        if received.method == "GET":
            out.whole(200, b'{"models":[{"name":"asked:latest"}]}')
        elif kind.error is not None and kind.error.after == "nothing":
            out.whole(kind.error.status, _encode(error_of(wire, kind.error)))
        else:
            self._answer(wire, kind, out=out)

    def _answer(self, wire: str, kind: Kind, *, out: Out) -> None:
        payloads = list(TOLD[wire](kind.story, kind.stop))
        if kind.error is not None:
            # The first payloads hold words, the last ones the end.
            payloads = [*payloads[: _BEFORE_END[wire]], late_error_of(wire, kind.error)]
        out.begin(_LINES if wire == "ollama" else _EVENTS)
        lines = [_encode(payload) for payload in payloads]
        if kind.noise:
            lines.insert(_BEFORE_END[wire] - 1, kind.noise)
        for data in lines:
            out.frame(data + b"\n" if wire == "ollama" else b"data: " + data + b"\n\n")
        out.end()


# How many payloads of a short text come before its end.
_BEFORE_END = {"anthropic": 4, "responses": 4, "gemini": 2, "openai": 2, "ollama": 2}


def _encode(value: Json) -> bytes:
    return msgspec.json.encode(value)


def error_of(wire: str, error: ServiceError) -> Json:
    """Return the body of an error in the shape of a service."""
    if wire == "anthropic":
        return {"type": "error", "error": {"type": "api_error", "message": _ERROR_TEXT}}
    if wire == "ollama":
        return {"error": _ERROR_TEXT}
    if wire == "gemini":
        return {"error": _google_error(error)}
    told = {"message": _ERROR_TEXT, "type": "an_error", "code": error.code, "param": error.param}
    return {"error": told}


def _google_error(error: ServiceError) -> Json:
    details: list[Json] = []
    if error.code is not None:
        details.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": error.code})
    if error.param is not None:
        fields = [{"field": error.param, "description": _ERROR_TEXT}]
        bad = "type.googleapis.com/google.rpc.BadRequest"
        details.append({"@type": bad, "fieldViolations": fields})
    status = {"code": error.status, "message": _ERROR_TEXT, "status": "INVALID_ARGUMENT"}
    return {**status, "details": details}


def late_error_of(wire: str, error: ServiceError) -> Json:
    """Return the error that comes inside a stream."""
    if wire == "responses":
        failed = {"code": error.code, "message": _ERROR_TEXT}
        return {"type": "response.failed", "response": {"error": failed}}
    return error_of(wire, error)
