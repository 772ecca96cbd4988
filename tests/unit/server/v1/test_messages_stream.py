"""A streamed answer on the Messages wire: the order of its events, and what the end still says."""

import msgspec
import pytest

from hermes.calls.events import Piece
from hermes.calls.token_estimate import input_tokens
from hermes.errors import StreamTruncated
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import ImagePart, Media, ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.provider import (
    ModelRequest,
    OutputSchema,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolSpec,
)
from hermes.server.v1.messages import MessagesDialect
from tests.unit.server.v1.messages_answers import (
    STAMP,
    WISH,
    answered,
    content_of,
    events_of,
    shorthand,
    streamed,
    whole,
)

HAMLET = 'To be,\n\n"or"\u2028 not 🦜'
RED = ToolCallPart("t1", "red", '{"a":1}')
BLUE = ToolCallPart("t2", "blue", '{"b":[2]}')
EVERYTHING = (
    ReasoningPart("hm", "anthropic", "c2ln"),
    ReasoningPart("", "anthropic", sealed="RU5D"),
    TextPart("I look."),
    RED,
    BLUE,
)


@pytest.mark.req("M7", "A20")
def test_every_event_of_a_short_answer():
    answer = answered(TextPart("Hello"), usage=Usage(100, 20, 60, cache_written=15))

    assert streamed(answer, TextDelta("Hel"), TextDelta("lo")) == [
        (
            "message_start",
            {
                "type": "message_start",
                "message": {
                    "id": "msg_call_1",
                    "type": "message",
                    "role": "assistant",
                    "model": "auto",
                    "content": [],
                    "stop_reason": None,
                    "stop_sequence": None,
                    "usage": {
                        "input_tokens": 100,
                        "cache_creation_input_tokens": 0,
                        "cache_read_input_tokens": 0,
                        "output_tokens": 0,
                    },
                },
            },
        ),
        ("ping", {"type": "ping"}),
        (
            "content_block_start",
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            },
        ),
        (
            "content_block_delta",
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "Hel"},
            },
        ),
        (
            "content_block_delta",
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "lo"},
            },
        ),
        ("content_block_stop", {"type": "content_block_stop", "index": 0}),
        (
            "message_delta",
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {
                    "input_tokens": 25,
                    "cache_creation_input_tokens": 15,
                    "cache_read_input_tokens": 60,
                    "output_tokens": 20,
                },
            },
        ),
        ("message_stop", {"type": "message_stop"}),
    ]


@pytest.mark.req("M7")
def test_any_text_stays_inside_its_frame():
    events = streamed(answered(TextPart(HAMLET)), *map(TextDelta, HAMLET))

    assert content_of(events) == [{"type": "text", "text": HAMLET}]


@pytest.mark.req("M5", "M7")
def test_thoughts_text_and_calls_one_block_after_another():
    events = streamed(
        answered(*EVERYTHING, reason="tool_calls"),
        ReasoningDelta("h"),
        ReasoningDelta("m"),
        ReasoningDelta("", signature="c2ln"),
        ReasoningDelta("", sealed="RU5D"),
        TextDelta("I look."),
        ToolCallDelta(0, "t1", "red"),
        ToolCallDelta(0, arguments='{"a"'),
        ToolCallDelta(0, arguments=":1}"),
        ToolCallDelta(1, "t2", "blue", '{"b":[2]}'),
    )

    assert shorthand(events) == [
        *("0+thinking", "0:h", "0:m", "0:c2ln", "0-"),
        *("1+redacted_thinking", "1-"),
        *("2+text", "2:I look.", "2-"),
        *("3+tool_use", '3:{"a"', "3::1}", "3-"),
        *("4+tool_use", '4:{"b":[2]}', "4-"),
    ]
    assert content_of(events) == whole(answered(*EVERYTHING))["content"]


@pytest.mark.req("M7")
def test_the_first_event_of_each_kind_is_what_clients_wait_for():
    events = streamed(
        answered(*EVERYTHING),
        ReasoningDelta("hm", signature="c2ln"),
        ReasoningDelta("", sealed="RU5D"),
        TextDelta("I look."),
        ToolCallDelta(0, "t1", "red", '{"a":1}'),
        ToolCallDelta(1, "t2", "blue", '{"b":[2]}'),
    )

    opened = [data["content_block"] for name, data in events if name == "content_block_start"]
    grown = [data["delta"]["type"] for name, data in events if name == "content_block_delta"]
    assert opened == [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "redacted_thinking", "data": "RU5D"},
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "t1", "name": "red", "input": {}},
        {"type": "tool_use", "id": "t2", "name": "blue", "input": {}},
    ]
    assert grown == [
        *("thinking_delta", "signature_delta", "text_delta"),
        *("input_json_delta", "input_json_delta"),
    ]


@pytest.mark.req("M7")
def test_a_second_thought_has_a_block_of_its_own():
    first, second = ReasoningPart("a", "anthropic", "s1"), ReasoningPart("b", "anthropic", "s2")
    events = streamed(
        answered(first, second, TextPart("c")),
        ReasoningDelta("a"),
        ReasoningDelta("", signature="s1"),
        ReasoningDelta("b"),
        ReasoningDelta("", signature="s2"),
        TextDelta("c"),
    )

    assert shorthand(events) == [
        *("0+thinking", "0:a", "0:s1", "0-"),
        *("1+thinking", "1:b", "1:s2", "1-"),
        *("2+text", "2:c", "2-"),
    ]


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    "parts",
    [
        EVERYTHING,
        (TextPart("a"), TextPart("b")),
        (ReasoningPart("", "anthropic", "only"), TextPart("a")),
        (ReasoningPart("unsigned", "anthropic"), TextPart("a")),
        (ReasoningPart("hm", "openai-responses", sealed="x", id="rs"), RED),
        (ImagePart(Media("image/png", name="a.png")), TextPart("a")),
        (),
    ],
)
def test_an_answer_that_came_whole_is_streamed_like_one(parts):
    answer = answered(*parts)

    assert content_of(streamed(answer)) == whole(answer)["content"]


@pytest.mark.req("M7")
@pytest.mark.parametrize("shown", range(6))
def test_what_the_pieces_did_not_show_comes_at_the_end(shown):
    answer = answered(TextPart("Hello"), RED, BLUE)
    pieces: list[Piece] = [
        TextDelta("Hel"),
        TextDelta("lo"),
        ToolCallDelta(0, "t1", "red"),
        ToolCallDelta(0, arguments='{"a":'),
        ToolCallDelta(0, arguments="1}"),
    ]

    events = streamed(answer, *pieces[:shown])

    assert content_of(events) == whole(answer)["content"]


@pytest.mark.req("M5", "M7")
def test_calls_that_grow_at_the_same_time_come_one_after_another():
    events = streamed(
        answered(RED, BLUE, TextPart("!")),
        ToolCallDelta(0, "t1", "red"),
        ToolCallDelta(1, "t2", "blue"),
        ToolCallDelta(0, arguments='{"a"'),
        ToolCallDelta(1, arguments='{"b":'),
        ToolCallDelta(0, arguments=":1}"),
        ToolCallDelta(1, arguments="[2]}"),
        TextDelta("!"),
    )

    assert shorthand(events) == [
        *("0+tool_use", '0:{"a"', "0::1}", "0-"),
        *("1+tool_use", '1:{"b":', "1:[2]}", "1-"),
        *("2+text", "2:!", "2-"),
    ]


@pytest.mark.req("M5", "M7")
def test_what_waits_for_a_call_without_arguments_is_not_lost():
    bare = ToolCallPart("t0", "bare", "{}")
    events = streamed(
        answered(bare, RED, BLUE),
        ToolCallDelta(0, "t0", "bare"),
        ToolCallDelta(1, "t1", "red"),
        ToolCallDelta(2, "t2", "blue", '{"b":[2]}'),
        ToolCallDelta(1, arguments='{"a":1}'),
    )

    assert content_of(events) == whole(answered(bare, RED, BLUE))["content"]
    assert [name for name in shorthand(events) if name.endswith("-")] == ["0-", "1-", "2-"]


@pytest.mark.req("M7")
def test_empty_pieces_write_nothing():
    writer = MessagesDialect().stream(WISH, stamp=STAMP)

    written = [writer.feed(TextDelta("")), writer.feed(ReasoningDelta(""))]

    assert written == [b"", b""]


@pytest.mark.req("A23")
@pytest.mark.parametrize("pieces", [[], [TextDelta("Hel")], [ToolCallDelta(0, "t1", "red", "{")]])
def test_a_failure_is_an_error_event_and_no_end(pieces):
    writer = MessagesDialect().stream(WISH, stamp=STAMP)
    before = b"".join(map(writer.feed, pieces))

    after = writer.failed(StreamTruncated("m: the stream broke off"))

    names = [name for name, _ in events_of(before)]
    assert events_of(after) == [
        (
            "error",
            {
                "type": "error",
                "error": {"type": "api_error", "message": "m: the stream broke off"},
            },
        )
    ]
    assert not {"content_block_stop", "message_delta", "message_stop"} & set(names)


def request_of(*parts, **fields) -> ModelRequest:
    return ModelRequest(model="", messages=(ChatMessage("user", parts),), **fields)


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("request_", "tokens"),
    [
        (request_of(), 1),
        (request_of(TextPart("x" * 40)), 10),
        (request_of(TextPart("x" * 41)), 11),
        (request_of(system=("x" * 4, "y" * 4)), 2),
        (request_of(tools=(ToolSpec("name", "word", msgspec.Raw(b"{}  ")),)), 3),
        (request_of(schema=OutputSchema(name="n", schema=msgspec.Raw(b"{}  "))), 1),
        (request_of(ImagePart(Media("image/png", url="data:" + "x" * 9000))), 1500),
        (request_of(ToolCallPart("id", "name", "{}  ")), 2),
        (request_of(ReasoningPart("text", "anthropic", "sign", "seal")), 3),
    ],
)
def test_everything_that_would_be_sent_is_estimated(request_, tokens):
    assert input_tokens(request_) == tokens


@pytest.mark.req("A20")
def test_tokens_are_counted_without_asking_a_model():
    body = {
        "model": "m",
        "system": "x" * 40,
        "messages": [{"role": "user", "content": "y" * 40}],
        "tools": [{"name": "name", "input_schema": {}}],
    }

    assert MessagesDialect().count(msgspec.json.encode(body)) == b'{"input_tokens":22}'


@pytest.mark.req("A20")
def test_a_stream_begins_with_the_same_estimate_as_counting():
    wish = msgspec.structs.replace(
        WISH, request=ModelRequest(model="", messages=(user_text("x" * 4000),))
    )
    writer = MessagesDialect().stream(wish, stamp=STAMP)

    start = events_of(writer.feed(TextDelta("a")))[0][1]

    assert start["message"]["usage"]["input_tokens"] == 1000
