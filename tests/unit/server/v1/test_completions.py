"""M1: the legacy completions wire, as OpenAI's documents describe it."""

import json
from typing import Any

import pytest
from openai.types import Completion

from hermes.calls.events import FullAnswer
from hermes.errors import BadRequest, StreamTruncated
from hermes.message.chat import user_text
from hermes.message.parts import ReasoningPart, TextPart
from hermes.message.reply import Usage
from hermes.ports.options import Extras
from hermes.ports.provider import CallEnd, ModelRequest, ReasoningDelta, StopReason, TextDelta
from hermes.routing.plan import Candidate
from hermes.server.v1.completions import CompletionsDialect
from hermes.server.v1.dialect import Stamp, WireCall

STAMP = Stamp("v_1", 1700000000.5)
WIRE = CompletionsDialect()


def read(**fields: Any) -> WireCall:
    body = {"model": "auto", "prompt": "Say hi", **fields}
    return WIRE.read(json.dumps(body).encode(), {})


def answer(text: str, *, stop: StopReason = "end") -> FullAnswer:
    parts = (ReasoningPart("hm", "chat"), TextPart(text))
    end = CallEnd(parts, stop, Usage(tokens_in=3, tokens_out=2), "m-1")
    return FullAnswer(candidate=Candidate("house", "m-1", "named"), end=end)


def frames(raw: bytes) -> list[Any]:
    texts = [text.removeprefix("data: ") for text in raw.decode().split("\n\n") if text]
    return [text if text == "[DONE]" else json.loads(text) for text in texts]


@pytest.mark.req("M1")
def test_a_prompt_and_its_options_become_a_request() -> None:
    call = read(
        prompt=["Say hi"], max_tokens=7, temperature=0.5, top_p=0.9, stop=["x", ""], user="u", n=1
    )

    assert call == WireCall(
        model="auto",
        request=ModelRequest(
            model="",
            messages=(user_text("Say hi"),),
            max_output_tokens=7,
            temperature=0.5,
            top_p=0.9,
            stop=("x",),
        ),
        wants_usage=False,
        ignored=("user",),
    )


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", 2),
        ("best_of", 3),
        ("echo", True),
        ("suffix", "end"),
        ("logprobs", 0),
        ("logit_bias", {"50256": -101}),
        ("frequency_penalty", 3),
        ("prompt", ["one", "two"]),
        ("prompt", [1212, 318]),
        ("prompt", [[1212, 318]]),
        ("prompt", ""),
        ("prompt", []),
        ("stop", ["x"] * 17),
        ("max_tokens", 0),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_its_name(field: str, value: object) -> None:
    with pytest.raises(BadRequest, match=field):
        read(**{field: value})


@pytest.mark.req("M1")
def test_rare_options_are_passed_on() -> None:
    call = read(seed=7, logit_bias={"50256": -100}, frequency_penalty=0.5, presence_penalty=-0.5)
    assert call.request.seed == 7
    assert call.request.extras == Extras(
        logit_bias={"50256": -100.0}, frequency_penalty=0.5, presence_penalty=-0.5
    )


@pytest.mark.req("M1")
def test_options_that_change_nothing_pass() -> None:
    neutral: dict[str, Any] = {
        "best_of": 1,
        "echo": False,
        "suffix": None,
        "logprobs": None,
        "logit_bias": {},
    }

    assert read(**neutral, frequency_penalty=0, presence_penalty=0) == read()


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("stop", "finish"),
    [("end", "stop"), ("length", "length"), ("refusal", "content_filter"), ("tool_calls", "stop")],
)
def test_a_whole_answer_has_the_published_shape(stop: StopReason, finish: str) -> None:
    told = json.loads(WIRE.whole(read(), answer("Hi", stop=stop), stamp=STAMP))

    Completion.model_validate(told)
    usage = told.pop("usage")
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (3, 2, 5)
    assert told == {
        "id": "cmpl-v_1",
        "object": "text_completion",
        "created": 1700000000,
        "model": "m-1",
        "choices": [{"text": "Hi", "index": 0, "logprobs": None, "finish_reason": finish}],
    }


@pytest.mark.req("M1")
def test_a_stream_has_the_text_once_then_the_finish_reason_and_the_end_marker() -> None:
    writer = WIRE.stream(read(stream=True, stream_options={"include_usage": True}), stamp=STAMP)

    raw = writer.feed(ReasoningDelta("hm")) + writer.feed(TextDelta("Good "))
    *chunks, last, done = frames(raw + writer.end(answer("Good day", stop="length")))

    assert done == "[DONE]"
    assert [chunk["choices"][0]["text"] for chunk in chunks] == ["Good ", "day"]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, "length"]
    assert [chunk["usage"] for chunk in chunks] == [None, None]
    assert (last["choices"], last["usage"]["total_tokens"]) == ([], 5)
    assert {chunk["model"] for chunk in (*chunks, last)} == {"auto"}


@pytest.mark.req("M1")
def test_a_failed_stream_ends_with_the_error_and_without_the_end_marker() -> None:
    writer = WIRE.stream(read(stream=True), stamp=STAMP)

    first, error = frames(writer.feed(TextDelta("Go")) + writer.failed(StreamTruncated("cut")))

    assert "usage" not in first
    assert error["error"]["message"] == "cut"
