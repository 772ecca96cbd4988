"""The good answer of every dialect, cut into the pieces between which a fault can occur.

A streamed answer says `TEXT`; an embedding answers two texts. The faulty upstream spoils these
pieces; this module knows no sockets.
"""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

Dialect = Literal["openai", "openai_responses", "anthropic", "gemini", "ollama"]

MODEL = "stand-in-1"
PIECES = ("Good", " morning", ", Lima")
TEXT = "".join(PIECES)
VECTORS = ((0.5, 1.5), (2.5, 3.5))
_CUT = '{"city":"Li'
_CALL_ID = "call_1"
_TOOL = "clock"
_KEEP_ALIVE = b": keep-alive\n\n"
_MEGABYTE = 1_048_576
_encode = msgspec.json.encode
# Any: JSON objects on their way to the encoder.
Json = dict[str, Any]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One good answer in pieces: `preamble` holds no output yet, `closing` ends with the end
    marker.

    `called` is a whole answer whose tool call stops in the middle of its arguments; `error` is a
    failure reported inside the answer, and `refusal` the body of one reported by a status. No line
    of a proper answer is as long as `longest`.
    """

    kind: str
    preamble: tuple[bytes, ...]
    deltas: tuple[bytes, ...]
    closing: tuple[bytes, ...]
    called: tuple[bytes, ...]
    filler: bytes
    line: Callable[[bytes], bytes]
    error: Callable[[str], bytes]
    refusal: Callable[[int, str], bytes]
    longest: int = _MEGABYTE

    @property
    def whole(self) -> tuple[bytes, ...]:
        """All pieces, in order."""
        return (*self.preamble, *self.deltas, *self.closing)


def streamed(dialect: Dialect) -> Answer:
    """Return the streamed answer of `dialect`."""
    return _STREAMED[dialect]()


def embedded(dialect: Dialect) -> Answer:
    """Return the answer of `dialect` to a request for two vectors."""
    body = _encode(_EMBEDDED[dialect])
    half = len(body) // 2
    return Answer(
        kind="application/json",
        preamble=(body[:10],),
        deltas=(body[10:half], body[half:-8]),
        closing=(body[-8:-1], body[-1:]),
        called=(),
        filler=b" ",
        line=lambda payload: payload,
        error=lambda words: _refusal(dialect)(500, words),
        refusal=_refusal(dialect),
    )


def _refusal(dialect: Dialect) -> Callable[[int, str], bytes]:
    def openai(_status: int, words: str) -> bytes:
        detail = {"message": words, "type": "some_error", "param": None, "code": None}
        return _encode({"error": detail})

    def anthropic(_status: int, words: str) -> bytes:
        detail = {"type": "some_error", "message": words}
        return _encode({"type": "error", "error": detail, "request_id": "req_1"})

    def gemini(status: int, words: str) -> bytes:
        return _encode({"error": {"code": status, "message": words, "status": "SOME_ERROR"}})

    def ollama(_status: int, words: str) -> bytes:
        return _encode({"error": words})

    own = {"anthropic": anthropic, "gemini": gemini, "ollama": ollama}
    return own.get(dialect, openai)


def _line(payload: bytes) -> bytes:
    return b"data: %s\n\n" % payload


def _event(kind: str, **fields: Any) -> bytes:
    told = _encode({"type": kind, **fields})
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), told)


def _openai() -> Answer:
    def chunk(delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _line(_encode({"id": "c", "model": MODEL, "choices": [choice]}))

    role = chunk({"role": "assistant", "content": ""})
    call = {"index": 0, "id": _CALL_ID, "function": {"name": _TOOL, "arguments": _CUT}}
    usage = {"prompt_tokens": 3, "completion_tokens": 3}
    counted = _line(_encode({"id": "c", "model": MODEL, "choices": [], "usage": usage}))
    done = _line(b"[DONE]")
    return Answer(
        kind="text/event-stream",
        preamble=(role,),
        deltas=tuple(chunk({"content": piece}) for piece in PIECES),
        closing=(chunk({}, "stop"), counted, done),
        called=(role, chunk({"tool_calls": [call]}), chunk({}, "tool_calls"), done),
        filler=_KEEP_ALIVE,
        line=_line,
        error=lambda words: _line(_refusal("openai")(500, words)),
        refusal=_refusal("openai"),
    )


def _responses() -> Answer:
    def numbered(number: int, kind: str, **fields: Any) -> bytes:
        return _event(kind, sequence_number=number, **fields)

    def message(text: str) -> Json:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        return {"type": "message", "id": "m", "role": "assistant", "content": content}

    def response(**fields: Any) -> Json:
        return {"id": "r", "object": "response", "model": MODEL, **fields}

    call = {"type": "function_call", "id": "f", "call_id": _CALL_ID, "name": _TOOL}
    cut = {**call, "arguments": _CUT}
    usage = {"input_tokens": 3, "output_tokens": 3, "total_tokens": 6}
    begun = numbered(1, "response.created", response=response(output=[]))
    whole = response(output=[message(TEXT)], usage=usage)
    return Answer(
        kind="text/event-stream; charset=utf-8",
        preamble=(begun, numbered(2, "response.output_item.added", item=message(""))),
        deltas=tuple(
            numbered(number, "response.output_text.delta", output_index=0, delta=piece)
            for number, piece in enumerate(PIECES, 3)
        ),
        closing=(
            numbered(9, "response.output_item.done", output_index=0, item=message(TEXT)),
            numbered(10, "response.completed", response=whole),
        ),
        called=(
            begun,
            numbered(2, "response.output_item.added", output_index=0, item=call),
            numbered(3, "response.function_call_arguments.delta", output_index=0, delta=_CUT),
            numbered(4, "response.output_item.done", output_index=0, item=cut),
            numbered(5, "response.completed", response=response(output=[cut], usage=usage)),
        ),
        filler=_KEEP_ALIVE,
        line=_line,
        error=lambda words: numbered(9, "error", code="server_error", message=words),
        refusal=_refusal("openai_responses"),
        longest=16 * _MEGABYTE,
    )


def _anthropic() -> Answer:
    def delta(index: int, **change: Any) -> bytes:
        return _event("content_block_delta", index=index, delta=change)

    def stop(reason: str) -> tuple[bytes, ...]:
        change, usage = {"stop_reason": reason, "stop_sequence": None}, {"output_tokens": 3}
        closed = _event("content_block_stop", index=0)
        return closed, _event("message_delta", delta=change, usage=usage), _event("message_stop")

    message = {"id": "m", "type": "message", "role": "assistant", "model": MODEL, "content": []}
    begun = _event("message_start", message={**message, "usage": {"input_tokens": 3}})
    text, use = {"type": "text", "text": ""}, {"type": "tool_use", "id": _CALL_ID, "input": {}}
    failed = {"type": "overloaded_error"}
    return Answer(
        kind="text/event-stream; charset=utf-8",
        preamble=(begun, _event("content_block_start", index=0, content_block=text)),
        deltas=tuple(delta(0, type="text_delta", text=piece) for piece in PIECES),
        closing=stop("end_turn"),
        called=(
            begun,
            _event("content_block_start", index=0, content_block={**use, "name": _TOOL}),
            delta(0, type="input_json_delta", partial_json=_CUT),
            *stop("tool_use"),
        ),
        filler=_KEEP_ALIVE,
        line=_line,
        error=lambda words: _event("error", error={**failed, "message": words}),
        refusal=_refusal("anthropic"),
    )


def _gemini() -> Answer:
    def chunk(*parts: Json, **candidate: Any) -> Json:
        content = {"role": "model", "parts": list(parts)}
        counts = {"promptTokenCount": 3, "candidatesTokenCount": 3}
        candidates = [{"index": 0, "content": content, **candidate}]
        return {"candidates": candidates, "usageMetadata": counts, "modelVersion": MODEL}

    called = _encode(chunk({"functionCall": {"name": _TOOL, "args": {"city": "Lima"}}}))
    return Answer(
        kind="text/event-stream",
        preamble=(_line(_encode({"usageMetadata": {}, "modelVersion": MODEL})),),
        deltas=tuple(_line(_encode(chunk({"text": piece}))) for piece in PIECES),
        closing=(_line(_encode(chunk(finishReason="STOP"))),),
        # Arguments are an object here: to cut them, the event itself is cut.
        called=(_line(called[: called.index(b"ma")]), _line(_encode(chunk(finishReason="STOP")))),
        filler=_KEEP_ALIVE,
        line=_line,
        error=lambda words: _line(_refusal("gemini")(503, words)),
        refusal=_refusal("gemini"),
    )


def _ollama() -> Answer:
    def line(done: bool = False, **message: Any) -> bytes:
        told = {"model": MODEL, "message": {"role": "assistant", **message}, "done": done}
        return _encode(told)

    def counted(**message: Any) -> bytes:
        counts = b',"done_reason":"stop","prompt_eval_count":3,"eval_count":3}\n'
        return line(True, content="", **message)[:-1] + counts

    called = line(content="", tool_calls=[{"function": {"name": _TOOL, "arguments": {"a": "Li"}}}])
    return Answer(
        kind="application/x-ndjson",
        preamble=(line(content="") + b"\n",),
        deltas=tuple(line(content=piece) + b"\n" for piece in PIECES),
        closing=(counted(),),
        # Arguments are an object here: to cut them, the line itself is cut.
        called=(called[: called.index(b"Li")] + b"\n", counted()),
        filler=b"\n",
        line=lambda payload: payload + b"\n",
        error=lambda words: _encode({"error": words}) + b"\n",
        refusal=_refusal("ollama"),
    )


_STREAMED: dict[Dialect, Callable[[], Answer]] = {
    "openai": _openai,
    "openai_responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}
_EMBEDDED: dict[Dialect, Json] = {
    "openai": {
        "object": "list",
        "data": [
            {"object": "embedding", "index": number, "embedding": vector}
            for number, vector in enumerate(VECTORS)
        ],
        "model": MODEL,
        "usage": {"prompt_tokens": 2, "total_tokens": 2},
    },
    "gemini": {"embeddings": [{"values": vector} for vector in VECTORS]},
    "ollama": {"model": MODEL, "embeddings": VECTORS, "prompt_eval_count": 2},
}
