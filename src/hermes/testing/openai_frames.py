"""Encodes a scripted turn as an OpenAI answer: HTTP heads, event-stream frames, errors. Pure."""

from collections.abc import Iterator
from typing import Any

import msgspec

from hermes.testing.model_script import ScriptedTurn, split
from hermes.testing.turn_server import WireAnswer, chunk, whole

_encode = msgspec.json.encode
_STOPS = {None: "stop", "length": "length", "refusal": "content_filter"}
DONE = b"e\r\ndata: [DONE]\n\n\r\n"


class Answer(WireAnswer, frozen=True, kw_only=True):
    """One scripted turn as OpenAI tells it.

    With `top_logprobs` each piece of the text is a token, with that many alternatives.
    """

    created: int
    top_logprobs: int | None = None

    @property
    def finish(self) -> str:
        """The finish reason in OpenAI's terms."""
        return "tool_calls" if self.tools else _STOPS[self.turn.stops]

    # Any: JSON objects on their way to the encoder.
    def logprobs(self, *pieces: str) -> dict[str, Any] | None:
        """Return the log probabilities of some pieces, if they were asked for."""
        if self.top_logprobs is None:
            return None
        tokens = [
            {
                "token": piece,
                "logprob": -0.5,
                "bytes": list(piece.encode()),
                "top_logprobs": [
                    {"token": f"{piece}{n}", "logprob": -0.5 - n, "bytes": None}
                    for n in range(self.top_logprobs)
                ],
            }
            for piece in pieces
        ]
        return {"content": tokens, "refusal": None}

    def usage(self) -> dict[str, Any]:
        """Return the token counts."""
        turn = self.turn
        out = self.tokens_out
        return {
            "prompt_tokens": self.tokens_in,
            "completion_tokens": out,
            "total_tokens": self.tokens_in + out,
            "prompt_tokens_details": {"cached_tokens": turn.cached_in},
            "completion_tokens_details": {"reasoning_tokens": turn.reasoning_out},
        }


def error(status: int, message: str, *, param: str | None = None, code: str | None = None) -> bytes:
    """Return an error in OpenAI's shape."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    told = {"message": message, "type": kind, "param": param, "code": code}
    return whole(status, {"error": told})


def scripted_error(turn: ScriptedTurn) -> bytes:
    """Return the answer of a turn whose fault is a status."""
    headers = (("Retry-After", f"{turn.retry_after:g}"),) if turn.retry_after is not None else ()
    message = f"scripted failure {turn.status}"
    body = {"error": {"message": message, "type": "scripted", "param": None, "code": None}}
    return whole(turn.status, body, headers=headers)


def completion(answer: Answer) -> bytes:
    """Return the answer of a call that did not ask for a stream."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.turn.text or None}
    if answer.tools:
        message["tool_calls"] = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments in answer.tools
        ]
    tokens = answer.logprobs(*answer.turn.pieces)
    choice = {"index": 0, "message": message, "logprobs": tokens, "finish_reason": answer.finish}
    body = {
        "id": answer.id,
        "object": "chat.completion",
        "created": answer.created,
        "model": answer.model,
        "choices": [choice],
        "usage": answer.usage(),
    }
    return whole(200, body)


def opening(answer: Answer, *, usage: bool) -> Iterator[bytes]:
    """Yield the frames before the text: the role, then the reasoning."""
    around = _Around(answer, usage=usage)
    yield around.frame({"role": "assistant", "content": "", "refusal": None})
    if answer.turn.reasoning:
        yield around.frame({"reasoning_content": answer.turn.reasoning})


def text(answer: Answer, *, usage: bool) -> Iterator[bytes]:
    """Yield one frame for each piece of the text that the turn's fault allows."""
    around = _Around(answer, usage=usage)
    turn = answer.turn
    pieces = turn.pieces if turn.fault is None else turn.pieces[: turn.after]
    for piece in pieces:
        yield around.frame({"content": piece}, logprobs=answer.logprobs(piece))


def closing(answer: Answer, *, usage: bool) -> Iterator[bytes]:
    """Yield the tool calls in pieces, the finish reason, the usage and the end marker."""
    around = _Around(answer, usage=usage)
    for index, (id_, name, arguments) in enumerate(answer.tools):
        head = {"name": name, "arguments": ""}
        piece = {"index": index, "id": id_, "type": "function", "function": head}
        yield around.frame({"tool_calls": [piece]})
        for part in split(arguments, 3):
            yield around.frame({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    yield around.frame({}, finish=answer.finish)
    if usage:
        yield around.usage_frame()
    yield DONE


class _Around:
    """The part of every chunk that does not change, encoded once."""

    __slots__ = ("_answer", "_head", "_tail")

    def __init__(self, answer: Answer, *, usage: bool) -> None:
        self._answer = answer
        self._head = (
            b'data: {"id":"%s","object":"chat.completion.chunk","created":%d,"model":%s,'
            b'"system_fingerprint":null,'
        ) % (answer.id.encode(), answer.created, _encode(answer.model))
        self._tail = b',"usage":null}\n\n' if usage else b"}\n\n"

    def frame(
        self,
        delta: dict[str, Any],
        *,
        finish: str | None = None,
        logprobs: dict[str, Any] | None = None,
    ) -> bytes:
        reason = b'"%s"' % finish.encode() if finish else b"null"
        middle = b'"choices":[{"index":0,"delta":%s,"logprobs":%s,"finish_reason":%s}]' % (
            _encode(delta),
            b"null" if logprobs is None else _encode(logprobs),
            reason,
        )
        return chunk(self._head + middle + self._tail)

    def usage_frame(self) -> bytes:
        counts = _encode(self._answer.usage())
        return chunk(self._head + b'"choices":[],"usage":%s}\n\n' % counts)
