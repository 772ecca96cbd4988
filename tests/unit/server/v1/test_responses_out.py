"""A whole answer as a Response object: its fields, its items, and what comes back from them."""

from typing import Any

import msgspec
import pytest

from hermes.calls.events import FullAnswer
from hermes.errors import OverBudget
from hermes.message.parts import (
    ImagePart,
    Media,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
)
from hermes.ports.provider import CallEnd
from hermes.routing.plan import Candidate
from hermes.server.v1.responses import ResponsesDialect
from tests.unit.server.v1.responses_calls import PATCH, STAMP, USAGE, WEATHER, read, whole

SPACE: Any = {"type": "namespace", "name": "town", "tools": [WEATHER, PATCH]}


@pytest.mark.req("M1", "A30")
def test_the_whole_object():
    call = read(
        instructions="Be kind.",
        tools=[WEATHER],
        tool_choice={"type": "function", "name": "weather"},
        reasoning={"effort": "low"},
        max_output_tokens=99,
        metadata={"a": "b"},
        temperature=0.5,
    )
    assert whole(call, TextPart("Good "), TextPart("day")) == {
        "id": "resp_v1",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "completed",
        "completed_at": 1_700_000_000,
        "model": "m-1",
        "output": [
            {
                "id": "msg_v1_0",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [
                    {"type": "output_text", "text": "Good day", "annotations": [], "logprobs": []}
                ],
            }
        ],
        "error": None,
        "incomplete_details": None,
        "usage": {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": 15,
        },
        "background": False,
        "conversation": None,
        "frequency_penalty": 0.0,
        "instructions": "Be kind.",
        "max_output_tokens": 99,
        "max_tool_calls": None,
        "metadata": {"a": "b"},
        "moderation": None,
        "parallel_tool_calls": True,
        "presence_penalty": 0.0,
        "previous_response_id": None,
        "prompt": None,
        "prompt_cache_key": None,
        "prompt_cache_retention": None,
        "reasoning": {"effort": "low", "summary": None},
        "safety_identifier": None,
        "service_tier": "default",
        "store": False,
        "temperature": 0.5,
        "text": {"format": {"type": "text"}},
        "tool_choice": {"type": "function", "name": "weather"},
        "tools": [WEATHER],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "user": None,
    }


@pytest.mark.req("M5")
def test_calls_are_shown_in_the_shapes_of_their_tools():
    search = {"type": "tool_search", "execution": "client"}
    call = read(tools=[WEATHER, PATCH, {"type": "local_shell"}, search, SPACE])
    told = whole(
        call,
        ToolCallPart("a", "weather", '{"place": "Oslo"}'),
        ToolCallPart("b", "apply_patch", '{"input":"*** Begin\\n"}'),
        ToolCallPart("c", "local_shell", '{"command":["ls"],"timeout_ms":9}'),
        ToolCallPart("d", "tool_search", '{"query":"x"}'),
        ToolCallPart("e", "town__weather", "{}"),
        ToolCallPart("f", "town__apply_patch", '{"input":"x"}'),
        stop="tool_calls",
    )
    action = {
        "type": "exec",
        "command": ["ls"],
        "timeout_ms": 9,
        "working_directory": None,
        "env": {},
        "user": None,
    }
    done = {"status": "completed"}
    assert told["output"] == [
        {
            "id": "fc_v1_0",
            "call_id": "a",
            "type": "function_call",
            "name": "weather",
            "arguments": '{"place": "Oslo"}',
            **done,
        },
        {
            "id": "ctc_v1_1",
            "call_id": "b",
            "type": "custom_tool_call",
            "name": "apply_patch",
            "input": "*** Begin\n",
            **done,
        },
        {"id": "lsh_v1_2", "call_id": "c", "type": "local_shell_call", "action": action, **done},
        {
            "id": "tsc_v1_3",
            "call_id": "d",
            "type": "tool_search_call",
            "execution": "client",
            "arguments": {"query": "x"},
            **done,
        },
        {
            "id": "fc_v1_4",
            "call_id": "e",
            "type": "function_call",
            "name": "weather",
            "namespace": "town",
            "arguments": "{}",
            **done,
        },
        {
            "id": "ctc_v1_5",
            "call_id": "f",
            "type": "custom_tool_call",
            "name": "apply_patch",
            "namespace": "town",
            "input": "x",
            **done,
        },
    ]


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("apply_patch", "*** Begin", {"type": "custom_tool_call", "input": "*** Begin"}),
        ("apply_patch", '{"patch": 1}', {"type": "custom_tool_call", "input": '{"patch": 1}'}),
        ("local_shell", "{broken", {"type": "function_call", "arguments": "{broken"}),
        ("local_shell", '{"command": "ls"}', {"type": "function_call", "name": "local_shell"}),
        ("unheard_of", "{}", {"type": "function_call", "name": "unheard_of"}),
    ],
)
def test_arguments_that_do_not_fit_are_never_lost_and_never_made_up(name, arguments, expected):
    call = read(tools=[PATCH, {"type": "local_shell"}])
    (item,) = whole(call, ToolCallPart("a", name, arguments), stop="tool_calls")["output"]
    assert item | expected == item


@pytest.mark.req("M3")
@pytest.mark.parametrize(
    "parts",
    [
        (
            ReasoningPart("One.", "responses", sealed="s==", id="rs_1"),
            ReasoningPart("Two.", "responses", id="rs_1"),
            ReasoningPart("", "responses", sealed="t==", id="rs_2"),
            TextPart("Yes."),
        ),
        (
            ReasoningPart("Hm.", "anthropic", signature="sig"),
            ReasoningPart("", "anthropic", sealed="redacted=="),
            TextPart("Let me see."),
            ReasoningPart("Hm?", "anthropic", signature="sig2"),
            ToolCallPart("a", "weather", "{}"),
        ),
        (
            ReasoningPart("So.", "openai", sealed='[{"type":"reasoning.text"}]'),
            ToolCallPart("a", "weather", "{}"),
        ),
        (
            ReasoningPart("Thinking", "gemini"),
            ReasoningPart("", "gemini", signature="sig==", id="next"),
            ToolCallPart("a", "weather", "{}"),
        ),
    ],
)
def test_an_answer_that_is_sent_back_is_what_it_was(parts: tuple[Part, ...]):
    output = whole(read(tools=[WEATHER]), *parts)["output"]
    assert read(output, tools=[WEATHER]).request.messages[0].parts == parts


@pytest.mark.req("M3")
def test_openais_own_reasoning_keeps_its_id_and_its_seal():
    told = whole(
        read(),
        ReasoningPart("One.", "responses", sealed="s==", id="rs_1"),
        ReasoningPart("Two.", "responses", id="rs_1"),
        TextPart("Yes."),
    )
    assert told["output"][0] == {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [
            {"type": "summary_text", "text": "One."},
            {"type": "summary_text", "text": "Two."},
        ],
        "encrypted_content": "s==",
    }


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("stop", "reason"), [("length", "max_output_tokens"), ("refusal", "content_filter")]
)
def test_an_answer_that_is_not_whole_says_so(stop, reason):
    told = whole(read(), ReasoningPart("Hm", "x"), TextPart("Once upon"), stop=stop)
    assert (told["status"], told["incomplete_details"]) == ("incomplete", {"reason": reason})
    assert told["output"][1]["status"] == "incomplete"
    assert told["output"][1]["content"][0]["text"] == "Once upon"


@pytest.mark.req("M6")
def test_a_refusal_where_a_schema_was_asked_for_is_not_the_answer():
    told = whole(
        read(text={"format": {"type": "json_object"}}), TextPart("I won't."), stop="refusal"
    )
    assert told["output"][0]["content"] == [{"type": "refusal", "refusal": "I won't."}]


@pytest.mark.req("M1")
def test_what_the_wire_has_no_place_for_is_said_in_words():
    told = whole(read(), ImagePart(Media("image/png", url="https://example.com/x.png")))
    assert told["output"][0]["content"][0]["text"] == "[image/png: https://example.com/x.png]"


@pytest.mark.req("A22")
def test_a_refusal_has_openais_shape():
    refusal = ResponsesDialect().refusal(OverBudget("The budget is spent.", 30.0))
    assert (refusal.status, refusal.headers["retry-after"]) == (429, "30")
    assert msgspec.json.decode(refusal.body)["error"]["code"] == "insufficient_quota"


@pytest.mark.req("M1")
def test_a_refusal_in_the_models_words_is_a_complete_response():
    end = CallEnd((TextPart("Well. "), TextPart("No.")), "refusal", USAGE, "m-1", refusal="No.")
    answer = FullAnswer(candidate=Candidate("house", "m-1", "named"), end=end)

    told = msgspec.json.decode(ResponsesDialect().whole(read(), answer, stamp=STAMP))

    assert (told["status"], told["incomplete_details"]) == ("completed", None)
    assert [item["content"] for item in told["output"]] == [
        [{"type": "output_text", "text": "Well. ", "annotations": [], "logprobs": []}],
        [{"type": "refusal", "refusal": "No."}],
    ]
