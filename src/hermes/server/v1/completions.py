"""OpenAI's legacy completions wire: a text in, the text that a model answers out. Pure.

The prompt becomes the one message of a conversation: chat models answer it, none continues it word
by word. What cannot be honoured is refused by name; what has no effect is listed.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hermes.calls.events import FullAnswer, Piece
from hermes.errors import BadRequest, HermesError
from hermes.message.chat import user_text
from hermes.message.parts import text_of
from hermes.ports.channel import HttpResponse
from hermes.ports.options import NO_EXTRAS, Extras
from hermes.ports.provider import ModelRequest, StopReason, TextDelta
from hermes.server.v1.chat_out import chat_usage
from hermes.server.v1.chat_shape import Biases, Penalty, Seed, StreamOptions
from hermes.server.v1.dialect import Stamp, WireCall
from hermes.server.v1.embeddings import Token
from hermes.server.v1.openai_errors import openai_error, openai_refusal
from hermes.server.v1.wire_body import OutputTokens, WireBody

_MAX_STOPS = 16
_FINISH: dict[StopReason, str] = {
    "end": "stop",
    "length": "length",
    "tool_calls": "stop",
    "refusal": "content_filter",
}
_DONE = b"data: [DONE]\n\n"
_encode = msgspec.json.Encoder().encode
# Any: JSON objects on their way to the encoder.
Json = dict[str, Any]
# More than one is refused, in words of its own.
Choices = Annotated[int, Meta(ge=0, le=1_000)]


class CompletionsBody(msgspec.Struct, frozen=True, kw_only=True):
    """A request; fields that this struct lacks have no effect."""

    model: Annotated[str, Meta(min_length=1, max_length=256)]
    prompt: str | Annotated[list[str | Token | list[Token]], Meta(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: OutputTokens | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    stop: str | Annotated[list[str], Meta(max_length=_MAX_STOPS)] | None = None
    n: Choices | None = None
    best_of: Choices | None = None
    echo: bool | None = None
    suffix: str | None = None
    logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    seed: Seed | None = None
    logit_bias: Biases | None = None
    frequency_penalty: Penalty | None = None
    presence_penalty: Penalty | None = None


_BODY = WireBody(CompletionsBody, "completions request")


class CompletionsDialect:
    """`POST /v1/completions`."""

    def read(self, body: bytes, headers: Mapping[str, str]) -> WireCall:
        """Return the request in a body; raises `BadRequest`."""
        asked, unknown = _BODY.decode(body)
        for refused, field, remedy in _refusals(asked):
            if refused:
                raise BadRequest(f"{field} cannot be honoured here: {remedy}.")
        request = ModelRequest(
            model="",
            messages=(user_text(_prompt(asked)),),
            max_output_tokens=asked.max_tokens,
            temperature=asked.temperature,
            top_p=asked.top_p,
            stop=_stops(asked),
            seed=asked.seed,
            extras=_extras(asked),
        )
        options = asked.stream_options
        return WireCall(
            model=asked.model,
            request=request,
            stream=bool(asked.stream),
            wants_usage=options is not None and bool(options.include_usage),
            ignored=unknown,
        )

    def whole(self, call: WireCall, answer: FullAnswer, *, stamp: Stamp) -> bytes:
        """Return the whole answer as JSON."""
        end = answer.end
        choice = _choice(text_of(end.parts), _FINISH[end.stop_reason])
        told = _top(stamp, end.model) | {"choices": [choice], "usage": chat_usage(end.usage)}
        return _encode(told)

    def stream(self, call: WireCall, *, stamp: Stamp) -> "CompletionsStream":
        """Return the writer of one streamed answer."""
        return CompletionsStream(call, stamp=stamp)

    def refusal(self, error: HermesError) -> HttpResponse:
        """Return an error in OpenAI's shape."""
        return openai_refusal(error)


class CompletionsStream:
    """Writes one answer as chunks; thoughts have no place on this wire."""

    def __init__(self, call: WireCall, *, stamp: Stamp) -> None:
        # The answering model is not known when a stream begins.
        self._top = _top(stamp, stamp.model or call.model)
        self._with_usage = call.wants_usage
        self._shown = 0

    def feed(self, piece: Piece) -> bytes:
        """Return the chunk of one piece of text."""
        if not isinstance(piece, TextDelta) or not piece.text:
            return b""
        self._shown += len(piece.text)
        return self._chunk(_choice(piece.text, None))

    def end(self, answer: FullAnswer) -> bytes:
        """Return the text not sent yet, the finish reason, the usage if wanted, and the end
        marker.
        """
        rest = text_of(answer.end.parts)[self._shown :]
        chunks = [self._chunk(_choice(rest, _FINISH[answer.end.stop_reason]))]
        if self._with_usage:
            told = self._top | {"choices": [], "usage": chat_usage(answer.end.usage)}
            chunks.append(_frame(told))
        return b"".join((*chunks, _DONE))

    def failed(self, error: HermesError) -> bytes:
        """Return the error, which ends the stream without its end marker."""
        return _frame(openai_error(error))

    def _chunk(self, choice: Json) -> bytes:
        # If the usage is requested, every chunk has the field, and only the last one fills it.
        usage = {"usage": None} if self._with_usage else {}
        return _frame(self._top | {"choices": [choice]} | usage)


def _refusals(asked: CompletionsBody) -> Iterator[tuple[bool, str, str]]:
    """Yield options that would change the answer but that no model could be sent: whether set, and
    what to do.
    """
    one = "one answer is given to a request; send several requests"
    yield asked.n not in {None, 1}, "n", one
    yield asked.best_of not in {None, 0, 1}, "best_of", one
    yield (
        bool(asked.echo),
        "echo",
        "answers do not repeat their prompt; put it before them yourself",
    )
    yield (
        bool(asked.suffix),
        "suffix",
        "models answer a prompt, they do not fill a gap; leave it out",
    )
    yield (
        asked.logprobs is not None,
        "logprobs",
        "log-probabilities are not passed on; leave it out",
    )


def _extras(asked: CompletionsBody) -> Extras | None:
    """Return the rare options; a value that changes nothing counts as not given."""
    found = Extras(
        frequency_penalty=asked.frequency_penalty or None,
        presence_penalty=asked.presence_penalty or None,
        logit_bias=asked.logit_bias or None,
    )
    return None if found == NO_EXTRAS else found


def _prompt(asked: CompletionsBody) -> str:
    given = [asked.prompt] if isinstance(asked.prompt, str) else asked.prompt
    if not all(isinstance(one, str) for one in given):
        raise BadRequest(
            "prompt holds token numbers, which only one model understands: send text, as a string"
            " or a list with one string."
        )
    if len(given) != 1:
        raise BadRequest(
            f"prompt holds {len(given)} texts, and a request is answered once: send each as a"
            " request of its own."
        )
    if not given[0]:
        raise BadRequest("prompt is empty: send the text to answer.")
    return str(given[0])


def _stops(asked: CompletionsBody) -> tuple[str, ...]:
    stop = [asked.stop] if isinstance(asked.stop, str) else asked.stop
    return tuple(one for one in stop or () if one)


def _top(stamp: Stamp, model: str) -> Json:
    return {
        "id": f"cmpl-{stamp.id}",
        "object": "text_completion",
        "created": int(stamp.at),
        "model": model,
    }


def _choice(text: str, finish: str | None) -> Json:
    return {"text": text, "index": 0, "logprobs": None, "finish_reason": finish}


def _frame(told: Json) -> bytes:
    return b"data: " + _encode(told) + b"\n\n"
