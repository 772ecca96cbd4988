"""Answers of the Anthropic oracle as the bytes of their event streams."""

from typing import Any

import msgspec

# Any: events are loose JSON here.
Json = dict[str, Any]


def event(kind: str, *, end: str = "\n", **fields: Any) -> bytes:
    data = msgspec.json.encode({"type": kind, **fields}).decode()
    return f"event: {kind}{end}data: {data}{end}{end}".encode()


def begin(**usage: Any) -> bytes:
    counts = {"input_tokens": 10, "output_tokens": 1, **usage}
    message: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5-20251001",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": counts,
    }
    return event("message_start", message=message)


def end(reason: str, *, sequence: str | None = None, **usage: Any) -> bytes:
    delta = {"stop_reason": reason, "stop_sequence": sequence}
    counts = {"output_tokens": 25, **usage}
    return event("message_delta", delta=delta, usage=counts) + event("message_stop")


def block(index: int, content: Json, *deltas: Json) -> bytes:
    return b"".join(
        (
            event("content_block_start", index=index, content_block=content),
            *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
            event("content_block_stop", index=index),
        )
    )


def text(index: int, *pieces: str, first: str = "") -> bytes:
    deltas = ({"type": "text_delta", "text": piece} for piece in pieces)
    return block(index, {"type": "text", "text": first}, *deltas)


def thinking(index: int, words: str, signature: str) -> bytes:
    start = {"type": "thinking", "thinking": "", "signature": ""}
    thought = [{"type": "thinking_delta", "thinking": words}] if words else []
    return block(index, start, *thought, {"type": "signature_delta", "signature": signature})


def tool(index: int, id_: str, *pieces: str, given: Json | None = None) -> bytes:
    start = {"type": "tool_use", "id": id_, "name": "weather", "input": given or {}}
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return block(index, start, *deltas)


PING = event("ping")

EVERYTHING = b"".join(
    (
        begin(cache_read_input_tokens=100, cache_creation_input_tokens=40),
        PING,
        thinking(0, "Höhe? 🏔️", "c2ln+/=="),
        block(1, {"type": "redacted_thinking", "data": "ENC+/=="}),
        text(2, "It is ", "cold “up” 🏔️", " there.\n"),
        tool(3, "toolu_1", "", '{"city": "Os', 'lo", "n": [1, 2.5, null]}'),
        PING,
        tool(4, "toolu_2", "", '{"city": "Rome"}'),
        end("tool_use", output_tokens_details={"thinking_tokens": 9}),
    )
)

STREAMS: dict[str, bytes] = {
    "text": begin() + text(0, "Hel", "lo") + end("end_turn"),
    "text that begins in its block": begin() + text(0, "lo", first="Hel") + end("end_turn"),
    "two texts": begin() + text(0, "one") + text(1, "two") + end("end_turn"),
    "everything": EVERYTHING,
    "lines of another system": begin().replace(b"\n", b"\r\n")
    + text(0, "a").replace(b"\n", b"\r\n")
    + end("end_turn").replace(b"\n", b"\r\n"),
    "a call without arguments": begin() + tool(0, "toolu_1", "") + end("tool_use"),
    "a call whole in its first event": begin()
    + tool(0, "toolu_1", given={"city": "Bern"})
    + end("tool_use"),
    "thoughts that are not shown": begin()
    + thinking(0, "", "b21pdHRlZA==")
    + text(1, "x")
    + end("end_turn"),
    "a limit": begin() + text(0, "and th") + end("max_tokens"),
    "a word to stop at": begin() + text(0, "a") + end("stop_sequence", sequence="END"),
    "a refusal": begin() + text(0, "I") + end("refusal"),
    "a pause": begin() + text(0, "wait") + end("pause_turn"),
    "a full context": begin() + text(0, "wait") + end("model_context_window_exceeded"),
    "nothing said": begin() + end("end_turn"),
    "counts told again at the end": begin(cache_read_input_tokens=1)
    + text(0, "a")
    + end(
        "end_turn",
        input_tokens=12,
        cache_read_input_tokens=200,
        cache_creation_input_tokens=300,
    ),
    "kinds of events that come later": begin()
    + event("content_block_news", index=7)
    + b": a comment\n\n"
    + text(0, "a")
    + end("end_turn"),
}
