"""Encodes a scripted turn as an Anthropic answer: HTTP heads, named events, errors. Pure."""

from collections.abc import Iterator
from typing import Any

import msgspec

from hermes.testing.model_script import ScriptedTurn, split
from hermes.testing.turn_server import WireAnswer, chunk, whole

_encode = msgspec.json.encode
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_STOPS = {None: "end_turn", "length": "max_tokens", "refusal": "refusal"}
SIGNATURE = "c2NyaXB0ZWQ="


class Answer(WireAnswer, frozen=True, kw_only=True):
    """One scripted turn as Anthropic tells it."""

    @property
    def stop_reason(self) -> str:
        """The stop reason in Anthropic's terms."""
        return "tool_use" if self.tools else _STOPS[self.turn.stops]

    # Any: JSON objects on their way to the encoder.
    def usage(self, tokens_out: int) -> dict[str, Any]:
        """Return the token counts; cached tokens are not part of `input_tokens`."""
        return {
            "input_tokens": self.tokens_in - self.turn.cached_in,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": self.turn.cached_in,
            "output_tokens": tokens_out,
        }

    def message(self, content: list[dict[str, Any]], *, stop: str | None) -> dict[str, Any]:
        """Return the message, whole or as at its beginning."""
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": self.usage(self.tokens_out if stop else 1),
        }


def error(status: int, message: str, *, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    """Return an error in Anthropic's shape."""
    detail = {"type": _TYPES.get(status, "api_error"), "message": message}
    body = {"type": "error", "error": detail, "request_id": "req_scripted"}
    return whole(status, body, headers=headers)


def scripted_error(turn: ScriptedTurn) -> bytes:
    """Return the answer of a turn whose fault is a status."""
    headers = (("retry-after", f"{turn.retry_after:g}"),) if turn.retry_after is not None else ()
    return error(turn.status, f"scripted failure {turn.status}", headers=headers)


def completion(answer: Answer) -> bytes:
    """Return the answer of a call that did not ask for a stream."""
    content: list[dict[str, Any]] = []
    if answer.turn.reasoning:
        thought = {"thinking": answer.turn.reasoning, "signature": SIGNATURE}
        content.append({"type": "thinking", **thought})
    if answer.turn.text:
        content.append({"type": "text", "text": answer.turn.text})
    for id_, name, arguments in answer.tools:
        use = {"id": id_, "name": name, "input": msgspec.Raw(arguments.encode())}
        content.append({"type": "tool_use", **use})
    return whole(200, answer.message(content, stop=answer.stop_reason))


def opening(answer: Answer) -> Iterator[bytes]:
    """Yield the frames before the text: the message, a ping, the thinking, the text's block."""
    yield _event("message_start", message=answer.message([], stop=None))
    yield _event("ping")
    reasoning = answer.turn.reasoning
    if reasoning:
        yield _start(0, {"type": "thinking", "thinking": "", "signature": ""})
        yield _delta(0, {"type": "thinking_delta", "thinking": reasoning})
        yield _delta(0, {"type": "signature_delta", "signature": SIGNATURE})
        yield _event("content_block_stop", index=0)
    if answer.turn.text:
        yield _start(_text_index(answer), {"type": "text", "text": ""})


def text(answer: Answer) -> Iterator[bytes]:
    """Yield one frame for each piece of the text that the turn's fault allows."""
    turn = answer.turn
    pieces = turn.pieces if turn.fault is None else turn.pieces[: turn.after]
    for piece in pieces:
        yield _delta(_text_index(answer), {"type": "text_delta", "text": piece})


def closing(answer: Answer) -> Iterator[bytes]:
    """Yield the tool calls in pieces, the stop reason with the usage, and the end."""
    index = _text_index(answer)
    if answer.turn.text:
        yield _event("content_block_stop", index=index)
        index += 1
    for offset, (id_, name, arguments) in enumerate(answer.tools, start=index):
        yield _start(offset, {"type": "tool_use", "id": id_, "name": name, "input": {}})
        for piece in ("", *(split(arguments, 3) if arguments != "{}" else ())):
            yield _delta(offset, {"type": "input_json_delta", "partial_json": piece})
        yield _event("content_block_stop", index=offset)
    yield _event(
        "message_delta",
        delta={"stop_reason": answer.stop_reason, "stop_sequence": None},
        usage=answer.usage(answer.tokens_out)
        | {"output_tokens_details": {"thinking_tokens": answer.turn.reasoning_out}},
    )
    yield _event("message_stop")


def _text_index(answer: Answer) -> int:
    return 1 if answer.turn.reasoning else 0


def _start(index: int, block: dict[str, Any]) -> bytes:
    return _event("content_block_start", index=index, content_block=block)


def _delta(index: int, delta: dict[str, Any]) -> bytes:
    return _event("content_block_delta", index=index, delta=delta)


def _event(kind: str, **fields: object) -> bytes:
    return chunk(b"event: %s\ndata: %s\n\n" % (kind.encode(), _encode({"type": kind, **fields})))
