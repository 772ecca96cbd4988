"""Writes an answer as a chat completion, whole or as the chunks of a stream. Pure.

A chunk of text is the hot path of the whole server: everything around the text is built once.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from hermes.calls.events import FullAnswer, Piece
from hermes.errors import HermesError
from hermes.message.parts import ToolCallPart, text_of, tool_calls_of
from hermes.message.reply import Usage
from hermes.ports.options import TokenLogprob
from hermes.ports.provider import ReasoningDelta, StopReason, TextDelta, ToolCallDelta
from hermes.server.v1.chat_thoughts import thought_details, thought_text
from hermes.server.v1.dialect import Stamp, WireCall
from hermes.server.v1.openai_errors import openai_error

# Any: JSON objects on their way to the encoder.
Json = dict[str, Any]

_encode = msgspec.json.Encoder().encode
_FINISH: dict[StopReason, str] = {
    "end": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "refusal": "content_filter",
}
_DONE = b"data: [DONE]\n\n"


def write_chat(answer: FullAnswer, *, stamp: Stamp) -> bytes:
    """Return the whole answer as JSON, with every choice that it holds."""
    usage = answer.end.usage
    for other in answer.others:
        usage = usage.plus(other.end.usage)
    told = {
        "id": _id(stamp),
        "object": "chat.completion",
        "created": int(stamp.at),
        "model": answer.end.model,
        "choices": [_choice(one, n) for n, one in enumerate((answer, *answer.others))],
        "usage": chat_usage(usage),
        "system_fingerprint": None,
    }
    return _encode(told)


def _choice(answer: FullAnswer, index: int) -> Json:
    parts = answer.end.parts
    calls = tool_calls_of(parts)
    text = text_of(parts)
    message: Json = {
        "role": "assistant",
        "content": text if text or not calls else None,
        "refusal": None,
    }
    if thought := thought_text(parts):
        message["reasoning_content"] = thought
    if details := thought_details(parts):
        message["reasoning_details"] = details
    if calls:
        message["tool_calls"] = [_call(call) for call in calls]
    return {
        "index": index,
        "message": message,
        "logprobs": _logprobs(answer.end.logprobs),
        "finish_reason": _FINISH[answer.end.stop_reason],
    }


def chat_usage(usage: Usage) -> Json:
    """Return the tokens used, as this wire counts them."""
    return {
        "prompt_tokens": usage.tokens_in,
        "completion_tokens": usage.tokens_out,
        "total_tokens": usage.tokens_in + usage.tokens_out,
        "prompt_tokens_details": {"cached_tokens": usage.cached_in, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_out,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


class ChatStream:
    """Writes one answer as chunks; the pieces of text must be a prefix of the whole text."""

    def __init__(self, call: WireCall, *, stamp: Stamp) -> None:
        self._stamp = stamp
        self._with_usage = call.wants_usage
        self._model = call.model  # the answering model is not known when a stream begins
        self._left = call.choices
        self._index = 0
        self._usage = Usage()
        self._begin_choice()

    def _begin_choice(self) -> None:
        self._frame(self._model)
        self._open = False
        self._shown = 0
        self._thought = False
        self._calls: list[_Shown] = []
        # Also by the provider's own index, which need not count from 0 without gaps.
        self._growing: dict[int, _Shown] = {}

    def feed(self, piece: Piece) -> bytes:
        """Return the chunks of one piece; the first one opens the answer."""
        if isinstance(piece, TextDelta):
            self._shown += len(piece.text)
            if piece.logprobs:
                return self._opened() + self._text_with_tokens(piece)
            chunk = self._before_text + _encode(piece.text) + self._after
            return chunk if self._open else self._opening(b'""') + chunk
        if isinstance(piece, ReasoningDelta):
            if not piece.text:
                return b""  # only a seal, which is sent at the end
            self._thought = True
            return self._opened() + self._delta({"reasoning_content": piece.text})
        return self._opened() + self._grow(piece)

    def end(self, answer: FullAnswer) -> bytes:
        """Return the text not sent yet and the finish reason; after the last choice, the usage if
        wanted, and the end marker.
        """
        chunks = [self._rest(answer)]
        finish = _encode(_FINISH[answer.end.stop_reason])
        chunks.append(self._head + b"{}" + self._tail(finish))
        self._usage = self._usage.plus(answer.end.usage)
        self._left -= 1
        if self._left > 0:
            self._index += 1
            self._begin_choice()
            return b"".join(chunks)
        if self._with_usage:
            usage = _encode(chat_usage(self._usage))
            chunks.append(self._start + b'[],"usage":' + usage + b"}\n\n")
        chunks.append(_DONE)
        return b"".join(chunks)

    def failed(self, error: HermesError) -> bytes:
        """Return the error, which ends the stream without its end marker."""
        return b"data: " + _encode(openai_error(error)) + b"\n\n"

    def _frame(self, model: str) -> None:
        """Build the JSON around every delta."""
        top = {
            "id": _id(self._stamp),
            "object": "chat.completion.chunk",
            "created": int(self._stamp.at),
            "model": model,
            "system_fingerprint": None,
        }
        self._start = b"data: " + _encode(top)[:-1] + b',"choices":'
        self._head = self._start + b'[{"index":%d,"delta":' % self._index
        self._before_text = self._head + b'{"content":'
        self._after = b"}" + self._tail(b"null")

    def _tail(self, finish: bytes) -> bytes:
        # If the usage is requested, every chunk has the field, and only the last one fills it.
        usage = b',"usage":null' if self._with_usage else b""
        return b',"logprobs":null,"finish_reason":' + finish + b"}]" + usage + b"}\n\n"

    def _text_with_tokens(self, piece: TextDelta) -> bytes:
        tail = self._tail(b"null").replace(b"null", _encode(_logprobs(piece.logprobs)), 1)
        return self._head + _encode({"content": piece.text}) + tail

    def _delta(self, delta: Json) -> bytes:
        return self._head + _encode(delta) + self._tail(b"null")

    def _opened(self) -> bytes:
        return b"" if self._open else self._opening(b"null")

    def _opening(self, content: bytes) -> bytes:
        self._open = True
        delta = b'{"role":"assistant","content":' + content + b',"refusal":null'
        return self._head + delta + self._after

    def _grow(self, piece: ToolCallDelta) -> bytes:
        shown = self._growing.get(piece.index)
        if shown is not None:
            return self._more(shown, piece.arguments)
        begun = self._begin(ToolCallPart(piece.id, piece.name, piece.arguments))
        self._growing[piece.index] = self._calls[-1]
        return begun

    def _begin(self, call: ToolCallPart) -> bytes:
        """Return the chunk that names a call, and the one with its arguments so far."""
        shown = _Shown(call.id, len(self._calls))
        self._calls.append(shown)
        first = {
            "index": shown.place,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }
        return self._delta({"tool_calls": [first]}) + self._more(shown, call.arguments)

    def _more(self, shown: "_Shown", arguments: str) -> bytes:
        if not arguments:
            return b""
        shown.size += len(arguments)
        more = {"index": shown.place, "function": {"arguments": arguments}}
        return self._delta({"tool_calls": [more]})

    def _rest(self, answer: FullAnswer) -> bytes:
        """Return what the pieces have not sent: all of an answer that was not streamed."""
        parts = answer.end.parts
        chunks: list[bytes] = []
        thought = "" if self._thought else thought_text(parts)
        if thought:
            chunks.append(self.feed(ReasoningDelta(thought)))
        text = text_of(parts)[self._shown :]
        if text or not (self._open or tool_calls_of(parts)):
            chunks.append(self.feed(TextDelta(text)))
        if details := thought_details(parts):
            chunks.append(self._opened() + self._delta({"reasoning_details": details}))
        chunks += self._rest_of_calls(tool_calls_of(parts))
        return b"".join(chunks)

    def _rest_of_calls(self, calls: tuple[ToolCallPart, ...]) -> Iterator[bytes]:
        begun = list(self._calls)
        for call in calls:
            shown = next((one for one in begun if one.id == call.id), None)
            if shown is None:
                yield self._opened() + self._begin(call)
            else:
                begun.remove(shown)
                yield self._more(shown, call.arguments[shown.size :])


class _Shown:
    """A tool call in a stream: its index, and how many characters of its arguments were sent."""

    __slots__ = ("id", "place", "size")

    def __init__(self, call_id: str, place: int) -> None:
        self.id = call_id
        self.place = place
        self.size = 0


def _id(stamp: Stamp) -> str:
    return f"chatcmpl-{stamp.id}"


def _logprobs(tokens: tuple[TokenLogprob, ...]) -> Json | None:
    return {"content": tokens, "refusal": None} if tokens else None


def _call(call: ToolCallPart) -> Json:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}
