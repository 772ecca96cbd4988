"""Whole answers on the Messages wire, and reasoning that comes back to whoever thought it."""

import msgspec
import pytest

from hermes.calls.events import Piece
from hermes.errors import BadRequest
from hermes.message.parts import (
    ImagePart,
    Media,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
)
from hermes.message.reply import Usage
from hermes.ports.provider import ReasoningDelta, TextDelta, ToolCallDelta
from hermes.server.v1.messages import MessagesDialect
from hermes.server.v1.messages_thoughts import ForeignThought, packed
from tests.unit.server.v1.messages_answers import answered, content_of, streamed, whole

CALL = ToolCallPart("t1", "find", '{"a":1}')


@pytest.mark.req("M1", "A20")
def test_a_whole_answer():
    answer = answered(
        ReasoningPart("hm", "anthropic", "c2ln"),
        ReasoningPart("", "anthropic", sealed="RU5D"),
        TextPart("I look."),
        ToolCallPart("t1", "find", '{"b":1,  "a":2}'),
        reason="tool_calls",
        usage=Usage(100, 20, 60, 5, cache_written=15),
    )

    assert whole(answer) == {
        "id": "msg_call_1",
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "RU5D"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "find", "input": {"a": 2, "b": 1}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 25,
            "cache_creation_input_tokens": 15,
            "cache_read_input_tokens": 60,
            "output_tokens": 20,
            "output_tokens_details": {"thinking_tokens": 5},
        },
    }


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("end", "end_turn"),
        ("length", "max_tokens"),
        ("tool_calls", "tool_use"),
        ("refusal", "refusal"),
    ],
)
def test_every_reason_to_stop(reason, told):
    answer = answered(TextPart("x"), reason=reason)

    assert whole(answer)["stop_reason"] == told
    assert streamed(answer)[-2][1]["delta"] == {"stop_reason": told, "stop_sequence": None}


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [("", {}), ("{", {"raw_arguments": "{"}), ("[1]", {"raw_arguments": "[1]"})],
)
def test_arguments_that_are_no_object_are_kept_inside_one(arguments, told):
    (block,) = whole(answered(ToolCallPart("t1", "x", arguments)))["content"]

    assert block["input"] == told


@pytest.mark.req("M1")
def test_empty_texts_are_left_out_and_media_are_named():
    answer = answered(
        TextPart(""), ImagePart(Media("image/png", url="https://x.example/a.png")), TextPart("b")
    )

    assert whole(answer)["content"] == [
        {"type": "text", "text": "[image: https://x.example/a.png]"},
        {"type": "text", "text": "b"},
    ]


FOREIGN: dict[str, tuple[Part, ...]] = {
    "responses": (
        ReasoningPart("one", "openai-responses", sealed="gAAAA==", id="rs_1"),
        ReasoningPart("two", "openai-responses", id="rs_1"),
        TextPart("so"),
        ReasoningPart("", "openai-responses", sealed="gBBBB==", id="rs_2"),
        CALL,
    ),
    "gemini": (
        ReasoningPart("hm", "gemini"),
        ReasoningPart("", "gemini", signature="c2ln", id="t1"),
        CALL,
    ),
    "openai": (
        ReasoningPart("hm", "openai", sealed='[{"type":"reasoning.text","text":"hm"}]'),
        TextPart("so"),
        CALL,
    ),
    "behind everything": (TextPart("so"), ReasoningPart("", "gemini", signature="s", id="alone")),
    "plain": (ReasoningPart("hm", "openai"), CALL),
}


def read_back(content: list[dict]) -> tuple[Part, ...]:
    said = {"role": "assistant", "content": content}
    body = {"model": "m", "max_tokens": 9, "messages": [said]}
    return MessagesDialect().read(msgspec.json.encode(body), {}).request.messages[0].parts


@pytest.mark.req("M3")
@pytest.mark.parametrize("name", FOREIGN)
def test_reasoning_of_other_services_comes_back_unchanged(name):
    parts = FOREIGN[name]

    content = whole(answered(*parts))["content"]

    assert {block["type"] for block in content} <= {"thinking", "text", "tool_use"}
    assert read_back(content) == parts


@pytest.mark.req("M3", "M7")
@pytest.mark.parametrize("name", FOREIGN)
def test_reasoning_of_other_services_comes_back_unchanged_from_a_stream(name):
    parts = FOREIGN[name]
    pieces: list[Piece] = [
        ReasoningDelta("h"),
        ReasoningDelta("m"),
        *(TextDelta(part.text) for part in parts if isinstance(part, TextPart)),
        *(
            ToolCallDelta(0, part.id, part.name, part.arguments)
            for part in parts
            if isinstance(part, ToolCallPart)
        ),
    ]

    content = content_of(streamed(answered(*parts), *pieces))

    assert content[0] == {"type": "thinking", "thinking": "hm", "signature": ""}
    assert [block["thinking"] for block in content[1:] if block["type"] == "thinking"] == [""]
    assert read_back(content) == parts


@pytest.mark.req("M2")
@pytest.mark.parametrize(
    "signature",
    [
        "hermes.",
        "hermes.A",
        "hermes.W10=",
        packed([ForeignThought(-1, None, "openai")]),
        packed(
            [ForeignThought(0, None, "openai", sealed='[]}],"model":"dear","messages":[{"a":[')]
        ),
        packed([ForeignThought(0, None, "openai", sealed="[" * 5000)]),
    ],
)
def test_luggage_that_was_tampered_with_is_refused(signature):
    with pytest.raises(BadRequest, match="not a signature from Hermes"):
        read_back([{"type": "thinking", "thinking": "x", "signature": signature}])


@pytest.mark.req("M3", "M7")
def test_a_thought_that_was_streamed_is_not_sent_twice():
    thought = "hm " * 1000

    content = content_of(
        streamed(answered(ReasoningPart(thought, "openai"), CALL), ReasoningDelta(thought))
    )

    assert len(content[-1]["signature"]) < 100
    assert read_back(content) == (ReasoningPart(thought, "openai"), CALL)
