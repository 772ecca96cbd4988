"""Answers as chat completions: whole, and as chunks in the order that clients expect."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from hermes.calls.events import FullAnswer, Piece
from hermes.errors import StreamTruncated
from hermes.message.parts import Part, ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.provider import (
    CallEnd,
    ModelRequest,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCallDelta,
)
from hermes.routing.plan import Candidate
from hermes.server.v1.chat import ChatDialect
from hermes.server.v1.dialect import ApiDialect, Stamp, WireCall

Json = dict[str, Any]
STAMP = Stamp("c-1", 1700000000.9)
USAGE = Usage(tokens_in=10, tokens_out=5, cached_in=4, reasoning_out=2)
TOLD_USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 2,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
}
CHAT: ApiDialect = ChatDialect()
ROLE = {"role": "assistant", "content": "", "refusal": None}
ROLE_WITHOUT_TEXT = {**ROLE, "content": None}


def asked(*, wants_usage: bool = False) -> WireCall:
    request = ModelRequest(model="", messages=())
    return WireCall(model="auto", request=request, stream=True, wants_usage=wants_usage)


def answered(*parts: Part, stop: StopReason = "end") -> FullAnswer:
    candidate = Candidate("house", "m-1", "named")
    return FullAnswer(candidate=candidate, end=CallEnd(parts, stop, USAGE, "m-1"))


def frames(stream: bytes) -> list[str]:
    assert stream.endswith(b"\n\n")
    found = stream.decode().removesuffix("\n\n").split("\n\n")
    assert all(frame.startswith("data: ") for frame in found)
    return [frame.removeprefix("data: ") for frame in found]


def written(
    pieces: Sequence[Piece], answer: FullAnswer, *, wants_usage: bool = False
) -> list[Json]:
    """Return all chunks of an answer, whose end marker is checked here."""
    writer = CHAT.stream(asked(wants_usage=wants_usage), stamp=STAMP)
    stream = b"".join([*(writer.feed(piece) for piece in pieces), writer.end(answer)])
    *chunks, done = frames(stream)
    assert done == "[DONE]"
    return [json.loads(chunk) for chunk in chunks]


def deltas(pieces: Sequence[Piece], answer: FullAnswer) -> list[Json]:
    """Return the deltas of all chunks but the last, which must be empty."""
    *found, last = (chunk["choices"][0]["delta"] for chunk in written(pieces, answer))
    assert last == {}
    return found


def begun(place: int, call_id: str, name: str) -> Json:
    function = {"name": name, "arguments": ""}
    first = {"index": place, "id": call_id, "type": "function", "function": function}
    return {"tool_calls": [first]}


def more(place: int, arguments: str) -> Json:
    return {"tool_calls": [{"index": place, "function": {"arguments": arguments}}]}


@pytest.mark.req("M1", "A30")
def test_a_whole_answer() -> None:
    told = json.loads(
        CHAT.whole(asked(), answered(TextPart("Good "), TextPart("day")), stamp=STAMP)
    )
    assert told == {
        "id": "chatcmpl-c-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "m-1",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Good day", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": TOLD_USAGE,
        "system_fingerprint": None,
    }


@pytest.mark.req("M5")
def test_a_whole_answer_with_calls_and_thoughts() -> None:
    answer = answered(
        ReasoningPart("Let me think.", "anthropic", signature="sig"),
        ToolCallPart("1", "weather", '{"place": "Oslo"}'),
        stop="tool_calls",
    )
    choice = json.loads(CHAT.whole(asked(), answer, stamp=STAMP))["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"] == {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "reasoning_content": "Let me think.",
        "reasoning_details": [
            {
                "type": "reasoning.text",
                "format": "hermes-anthropic",
                "index": 0,
                "text": "Let me think.",
                "signature": "sig",
            }
        ],
        "tool_calls": [
            {
                "id": "1",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"place": "Oslo"}'},
            }
        ],
    }


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end", "stop"),
        ("length", "length"),
        ("tool_calls", "tool_calls"),
        ("refusal", "content_filter"),
    ],
)
def test_every_stop_has_its_finish_reason(stop: StopReason, finish: str) -> None:
    answer = answered(TextPart("x"), stop=stop)
    assert (
        json.loads(CHAT.whole(asked(), answer, stamp=STAMP))["choices"][0]["finish_reason"]
        == finish
    )
    chunks = written([], answer)
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, finish]


@pytest.mark.req("M7")
def test_a_stream_of_text() -> None:
    chunks = written([TextDelta("Good "), TextDelta('"day"\n')], answered(TextPart('Good "day"\n')))
    top = {
        "id": "chatcmpl-c-1",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "system_fingerprint": None,
    }

    def chunk(delta: Json, finish: str | None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**top, "model": "auto", "choices": [choice]}

    assert chunks == [
        chunk(ROLE, None),
        chunk({"content": "Good "}, None),
        chunk({"content": '"day"\n'}, None),
        chunk({}, "stop"),
    ]


@pytest.mark.req("M7", "A30")
def test_usage_stands_in_the_last_chunk_when_asked_for() -> None:
    *chunks, last = written([TextDelta("Hi")], answered(TextPart("Hi")), wants_usage=True)
    assert [chunk["usage"] for chunk in chunks] == [None, None, None]
    assert (last["choices"], last["usage"], last["model"]) == ([], TOLD_USAGE, "auto")


@pytest.mark.req("M5", "M7")
def test_calls_grow_side_by_side() -> None:
    pieces: list[Piece] = [
        TextDelta("Let me see."),
        ToolCallDelta(1, "a", "weather"),
        ToolCallDelta(1, arguments='{"place"'),
        ToolCallDelta(3, "b", "clock", "{"),
        ToolCallDelta(1, arguments=':"Oslo"}'),
        ToolCallDelta(3, arguments="}"),
    ]
    answer = answered(
        TextPart("Let me see."),
        ToolCallPart("a", "weather", '{"place":"Oslo"}'),
        ToolCallPart("b", "clock", "{}"),
        stop="tool_calls",
    )
    assert deltas(pieces, answer) == [
        ROLE,
        {"content": "Let me see."},
        begun(0, "a", "weather"),
        more(0, '{"place"'),
        begun(1, "b", "clock"),
        more(1, "{"),
        more(0, ':"Oslo"}'),
        more(1, "}"),
    ]


@pytest.mark.req("M7")
def test_reasoning_comes_before_the_answer_and_its_seal_after_it() -> None:
    pieces: list[Piece] = [ReasoningDelta("Let me "), ReasoningDelta("think."), TextDelta("Hi")]
    thought = ReasoningPart("Let me think.", "gemini", sealed="AB", id="x")
    assert deltas(pieces, answered(thought, TextPart("Hi"))) == [
        ROLE_WITHOUT_TEXT,
        {"reasoning_content": "Let me "},
        {"reasoning_content": "think."},
        {"content": "Hi"},
        {
            "reasoning_details": [
                {
                    "type": "reasoning.encrypted",
                    "format": "hermes-gemini",
                    "index": 0,
                    "id": "x",
                    "text": "Let me think.",
                    "data": "AB",
                }
            ]
        },
    ]


@pytest.mark.req("M7")
def test_a_piece_of_reasoning_without_text_writes_nothing() -> None:
    seal = ReasoningDelta("", signature="sig")
    thought = ReasoningPart("Hm.", "anthropic", signature="sig")
    details = deltas([], answered(thought, TextPart("Hi")))[-1]

    assert CHAT.stream(asked(), stamp=STAMP).feed(seal) == b""
    assert deltas([ReasoningDelta("Hm."), seal, TextDelta("Hi")], answered(thought)) == [
        ROLE_WITHOUT_TEXT,
        {"reasoning_content": "Hm."},
        {"content": "Hi"},
        details,
    ]
    # Nothing was shown of the thought, so that it comes at the end.
    assert deltas([seal, TextDelta("Hi")], answered(thought, TextPart("Hi"))) == [
        ROLE,
        {"content": "Hi"},
        {"reasoning_content": "Hm."},
        details,
    ]


@pytest.mark.req("M7", "A24")
def test_an_answer_that_came_whole_is_written_at_the_end_in_order() -> None:
    answer = answered(
        ReasoningPart("Hm.", "openai", sealed='[{"type":"x","index":0}]'),
        TextPart("Good "),
        TextPart("day"),
        ToolCallPart("a", "weather", "{}"),
        ToolCallPart("b", "clock", ""),
        stop="tool_calls",
    )
    assert deltas([], answer) == [
        ROLE_WITHOUT_TEXT,
        {"reasoning_content": "Hm."},
        {"content": "Good day"},
        {"reasoning_details": [{"type": "x", "index": 0}]},
        begun(0, "a", "weather"),
        more(0, "{}"),
        begun(1, "b", "clock"),
    ]


@pytest.mark.req("M7")
def test_only_what_was_not_shown_is_written_at_the_end() -> None:
    pieces: list[Piece] = [TextDelta("Good "), ToolCallDelta(0, "a", "weather", '{"pl')]
    answer = answered(
        TextPart("Good day"),
        ToolCallPart("a", "weather", '{"place":1}'),
        ToolCallPart("b", "clock", "{}"),
        stop="tool_calls",
    )
    assert deltas(pieces, answer)[4:] == [
        {"content": "day"},
        more(0, 'ace":1}'),
        begun(1, "b", "clock"),
        more(1, "{}"),
    ]


@pytest.mark.req("M5")
def test_calls_of_one_id_are_not_mixed_up() -> None:
    pieces: list[Piece] = [ToolCallDelta(0, "same", "a", "[1"), ToolCallDelta(1, "same", "b", "[2")]
    parts = (ToolCallPart("same", "a", "[1]"), ToolCallPart("same", "b", "[2]"))
    assert deltas(pieces, answered(*parts, stop="tool_calls"))[5:] == [more(0, "]"), more(1, "]")]


@pytest.mark.req("M7")
def test_an_empty_answer_is_still_an_answer() -> None:
    assert deltas([], answered()) == [ROLE, {"content": ""}]


@pytest.mark.req("P5", "A23")
def test_a_stream_that_breaks_off_ends_with_its_error_and_no_end_marker() -> None:
    writer = CHAT.stream(asked(), stamp=STAMP)
    writer.feed(TextDelta("Good "))
    (frame,) = frames(writer.failed(StreamTruncated("house: the stream ended early")))
    assert json.loads(frame) == {
        "error": {
            "message": "house: the stream ended early",
            "type": "server_error",
            "param": None,
            "code": "stream_truncated",
        }
    }
