"""A streamed answer, event by event."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from hermes.calls.events import FullAnswer, Piece
from hermes.errors import (
    HermesError,
    OverBudget,
    Overloaded,
    ProviderRejected,
    ProviderUnavailable,
    StreamTruncated,
)
from hermes.message.parts import ReasoningPart, TextPart, ToolCallPart
from hermes.ports.provider import ReasoningDelta, TextDelta, ToolCallDelta
from hermes.server.v1.dialect import WireCall
from hermes.server.v1.responses import ResponsesDialect
from tests.unit.server.v1.responses_calls import (
    PATCH,
    STAMP,
    WEATHER,
    answered,
    events,
    read,
    whole,
)

PLAN_A = ToolCallPart("a", "weather", '{"place": "Oslo"}')
PLAN_B = ToolCallPart("b", "weather", '{"place": "Rome"}')


def streamed(pieces: Sequence[Piece], end: FullAnswer | HermesError, **more: Any) -> list[Any]:
    return written(read(stream=True, **more), pieces, end)


def written(call: WireCall, pieces: Sequence[Piece], end: FullAnswer | HermesError) -> list[Any]:
    writer = ResponsesDialect().stream(call, stamp=STAMP)
    frames = [writer.feed(piece) for piece in pieces]
    last = writer.end(end) if isinstance(end, FullAnswer) else writer.failed(end)
    return events([*frames, last])


def kinds(told: list[Any]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in told]


def of_kind(told: list[Any], kind: str) -> list[Any]:
    return [event for event in told if event["type"] == f"response.{kind}"]


@pytest.mark.req("M7", "A30")
def test_text():
    call = read(stream=True, instructions="Be kind.")
    told = written(
        call,
        [TextDelta("Good "), TextDelta(""), TextDelta('"day"\n')],
        answered(TextPart('Good "day"\n')),
    )
    final = {**whole(call, TextPart('Good "day"\n')), "model": "auto"}
    (item,) = final["output"]
    at = {"item_id": "msg_v1_0", "output_index": 0}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    begun = {
        **final,
        "status": "in_progress",
        "completed_at": None,
        "output": [],
        "usage": None,
    }
    delta = {"type": "response.output_text.delta", **at, "content_index": 0, "logprobs": []}
    assert told == [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "status": "in_progress", "content": []},
        },
        {"type": "response.content_part.added", **at, "content_index": 0, "part": part},
        {**delta, "delta": "Good "},
        {**delta, "delta": '"day"\n'},
        {
            "type": "response.output_text.done",
            **at,
            "content_index": 0,
            "text": 'Good "day"\n',
            "logprobs": [],
        },
        {
            "type": "response.content_part.done",
            **at,
            "content_index": 0,
            "part": {**part, "text": 'Good "day"\n'},
        },
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": final},
    ]


@pytest.mark.req("M5", "M7")
def test_calls_with_their_arguments_in_pieces():
    pieces: list[Piece] = [
        TextDelta("Let me see."),
        ToolCallDelta(0, "a", "weather"),
        ToolCallDelta(0, arguments='{"place": '),
        ToolCallDelta(1, "b", "weather", '{"place": '),
        ToolCallDelta(0, arguments='"Oslo"}'),
        ToolCallDelta(1, arguments='"Rome"}'),
    ]
    told = streamed(
        pieces,
        answered(TextPart("Let me see."), PLAN_A, PLAN_B, stop="tool_calls"),
        tools=[WEATHER],
    )
    assert kinds(told)[5:] == [
        "output_item.added",
        "function_call_arguments.delta",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "function_call_arguments.done",
        "output_item.done",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    assert told[5]["item"] == {
        "id": "fc_v1_1",
        "call_id": "a",
        "type": "function_call",
        "status": "in_progress",
        "name": "weather",
        "arguments": "",
    }
    assert of_kind(told, "function_call_arguments.done") == [
        {
            "type": "response.function_call_arguments.done",
            "item_id": item_id,
            "output_index": place,
            "name": "weather",
            "arguments": call.arguments,
        }
        for place, item_id, call in ((1, "fc_v1_1", PLAN_A), (2, "fc_v1_2", PLAN_B))
    ]
    done = [event["item"] for event in of_kind(told, "output_item.done")]
    assert done == told[-1]["response"]["output"]
    assert [item.get("call_id") for item in done] == [None, "a", "b"]


@pytest.mark.req("M5")
def test_arguments_that_no_piece_has_shown_still_come():
    told = streamed(
        [ToolCallDelta(0, "a", "weather")],
        answered(ToolCallPart("other", "weather", "{}"), stop="tool_calls"),
        tools=[WEATHER],
    )
    (delta,) = of_kind(told, "function_call_arguments.delta")
    (item,) = told[-1]["response"]["output"]
    assert (delta["delta"], item["arguments"], item["call_id"]) == ("{}", "{}", "a")


@pytest.mark.req("M5")
def test_a_freeform_call_is_told_as_text():
    pieces: list[Piece] = [
        ToolCallDelta(0, "p", "apply_patch", '{"input":'),
        ToolCallDelta(0, arguments='"x\\n"}'),
    ]
    told = streamed(
        pieces,
        answered(ToolCallPart("p", "apply_patch", '{"input":"x\\n"}'), stop="tool_calls"),
        tools=[PATCH],
    )
    at = {"item_id": "ctc_v1_0", "output_index": 0}
    assert told[2]["item"]["type"] == "custom_tool_call"
    assert told[2]["item"]["input"] == ""
    assert told[3:5] == [
        {"type": "response.custom_tool_call_input.delta", **at, "delta": "x\n"},
        {"type": "response.custom_tool_call_input.done", **at, "input": "x\n"},
    ]
    assert told[5]["item"]["input"] == "x\n"


@pytest.mark.req("M5")
def test_a_command_for_the_clients_shell_is_shown_whole():
    pieces: list[Piece] = [
        ToolCallDelta(0, "s", "local_shell", '{"command":'),
        ToolCallDelta(0, "", "", '["ls"]}'),
    ]
    told = streamed(
        pieces,
        answered(ToolCallPart("s", "local_shell", '{"command":["ls"]}'), stop="tool_calls"),
        tools=[{"type": "local_shell"}],
    )
    assert kinds(told)[2:] == ["output_item.added", "output_item.done", "completed"]
    assert told[2]["item"]["action"]["command"] == ["ls"]
    assert [told[n]["item"]["status"] for n in (2, 3)] == ["in_progress", "completed"]


@pytest.mark.req("M3", "M7")
def test_reasoning_is_shown_as_it_comes_and_sealed_at_the_end():
    parts = (
        ReasoningPart("Hm, let me", "anthropic", signature="sig"),
        TextPart("Yes."),
        PLAN_A,
    )
    told = streamed(
        [ReasoningDelta("Hm, "), ReasoningDelta("let me"), TextDelta("Yes.")],
        answered(*parts, stop="tool_calls"),
        tools=[WEATHER],
    )
    assert kinds(told)[2:6] == [
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.delta",
    ]
    assert told[2]["item"] == {
        "id": "rs_v1_0",
        "type": "reasoning",
        "summary": [],
        "encrypted_content": None,
    }
    (text,) = of_kind(told, "reasoning_summary_text.done")
    assert (text["text"], text["summary_index"], text["item_id"]) == ("Hm, let me", 0, "rs_v1_0")
    output = told[-1]["response"]["output"]
    assert [item["type"] for item in output] == ["reasoning", "message", "function_call"]
    assert [e["item"] for e in of_kind(told, "output_item.done")] == output
    assert read(output, tools=[WEATHER]).request.messages[0].parts == parts


@pytest.mark.req("M3")
def test_reasoning_fills_the_place_that_was_kept_for_it():
    told = streamed(
        [ReasoningDelta("Hm."), TextDelta("Yes.")],
        answered(ReasoningPart("Hm.", "x"), TextPart("Yes.")),
        include=["reasoning.encrypted_content"],
    )
    assert [event["output_index"] for event in of_kind(told, "output_item.added")] == [0, 1]
    (delta,) = of_kind(told, "reasoning_summary_text.delta")
    assert (delta["output_index"], delta["delta"]) == (0, "Hm.")


@pytest.mark.req("M3")
@pytest.mark.parametrize(
    "asked", [{"reasoning": {"effort": "low"}}, {"include": ["reasoning.encrypted_content"]}]
)
def test_no_reasoning_item_opens_where_the_model_did_not_think(asked):
    told = streamed([TextDelta("Yes.")], answered(TextPart("Yes.")), **asked)
    assert [event["item"]["type"] for event in of_kind(told, "output_item.added")] == ["message"]
    assert [item["type"] for item in told[-1]["response"]["output"]] == ["message"]


@pytest.mark.req("M3")
def test_sealed_reasoning_that_nobody_asked_for_still_closes_before_the_text():
    parts = (ReasoningPart("", "responses", sealed="s==", id="rs_up"), TextPart("Yes."))
    told = streamed([TextDelta("Yes.")], answered(*parts))
    done = [event["item"] for event in of_kind(told, "output_item.done")]
    assert [item["id"] for item in done] == ["rs_up", "msg_v1_0"]
    assert done == told[-1]["response"]["output"]


@pytest.mark.req("A24", "M7")
def test_an_answer_that_came_whole_is_written_in_order():
    parts = (
        ReasoningPart("One.", "responses", sealed="s==", id="rs_1"),
        ReasoningPart("Two.", "responses", id="rs_1"),
        TextPart("Yes."),
        PLAN_A,
        ToolCallPart("p", "apply_patch", '{"input":"x"}'),
    )
    call = read(stream=True, tools=[WEATHER, PATCH])
    told = written(call, [], answered(*parts, stop="tool_calls"))
    final = whole(call, *parts, stop="tool_calls")
    assert told[-1]["response"] == {**final, "model": "auto"}
    assert [event["delta"] for event in told if "delta" in event] == [
        "One.",
        "Two.",
        "Yes.",
        PLAN_A.arguments,
        "x",
    ]
    assert [event["summary_index"] for event in of_kind(told, "reasoning_summary_text.done")] == [
        0,
        1,
    ]
    assert len(of_kind(told, "output_item.added")) == len(of_kind(told, "output_item.done")) == 4


@pytest.mark.req("M7")
def test_the_rest_of_a_text_still_comes():
    told = streamed([TextDelta("Good ")], answered(TextPart("Good day")))
    assert [event["delta"] for event in of_kind(told, "output_text.delta")] == ["Good ", "day"]
    assert of_kind(told, "output_text.done")[0]["text"] == "Good day"


@pytest.mark.req("M7")
def test_text_on_both_sides_of_a_call_is_never_told_twice():
    pieces: list[Piece] = [
        TextDelta("Before."),
        ToolCallDelta(0, "a", "weather", PLAN_A.arguments),
        TextDelta("After."),
    ]
    together = streamed(pieces, answered(TextPart("Before.After."), PLAN_A), tools=[WEATHER])
    apart = streamed(
        pieces, answered(TextPart("Before."), PLAN_A, TextPart("After.")), tools=[WEATHER]
    )
    for told in (together, apart):
        said = [event["text"] for event in of_kind(told, "output_text.done")]
        order = [item["type"] for item in told[-1]["response"]["output"]]
        assert said == ["Before.", "After."]
        assert order == ["message", "function_call", "message"]


@pytest.mark.req("M7")
def test_text_that_came_in_one_is_not_cut_afterwards():
    pieces: list[Piece] = [TextDelta("ab"), ToolCallDelta(0, "a", "weather", PLAN_A.arguments)]
    told = streamed(pieces, answered(TextPart("a"), PLAN_A, TextPart("b")), tools=[WEATHER])
    assert [event["text"] for event in of_kind(told, "output_text.done")] == ["ab"]


@pytest.mark.req("M7")
def test_line_breaks_in_the_request_do_not_break_events():
    body = msgspec.json.format(
        msgspec.json.encode({"model": "auto", "input": "Hi", "stream": True, "tools": [WEATHER]}),
        indent=2,
    )
    call = ResponsesDialect().read(body.replace(b"\n", b"\r\n"), {})
    told = written(call, [TextDelta("a\nb")], answered(TextPart("a\nb")))
    assert told[-1]["response"]["tools"] == [WEATHER]


@pytest.mark.req("M7")
def test_what_was_shown_stays_when_the_answer_is_another():
    told = streamed([TextDelta("Good day")], answered(TextPart("Bad day")))
    assert of_kind(told, "output_text.done")[0]["text"] == "Good day"


@pytest.mark.req("M5")
def test_half_a_call_is_never_called_done():
    pieces: list[Piece] = [TextDelta("Let me see."), ToolCallDelta(0, "a", "weather", '{"pla')]
    told = streamed(pieces, answered(TextPart("Let me see."), stop="length"), tools=[WEATHER])
    assert [event["item"]["type"] for event in of_kind(told, "output_item.done")] == ["message"]
    assert of_kind(told, "function_call_arguments.done") == []
    response = told[-1]["response"]
    assert (told[-1]["type"], response["status"]) == ("response.incomplete", "incomplete")
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert [item["status"] for item in response["output"]] == ["completed", "incomplete"]


@pytest.mark.req("M6")
def test_a_refusal_where_a_schema_was_asked_for_has_events_of_its_own():
    told = streamed(
        [],
        answered(TextPart("I won't."), stop="refusal"),
        text={"format": {"type": "json_object"}},
    )
    assert kinds(told)[3:] == [
        "content_part.added",
        "refusal.delta",
        "refusal.done",
        "content_part.done",
        "output_item.done",
        "incomplete",
    ]


@pytest.mark.req("P5", "A8")
def test_an_answer_that_breaks_off_is_never_called_done():
    pieces: list[Piece] = [TextDelta("Once upon"), ToolCallDelta(0, "a", "weather", '{"pla')]
    told = streamed(pieces, StreamTruncated("the stream broke"), tools=[WEATHER])
    assert kinds(told)[-2:] == ["function_call_arguments.delta", "failed"]
    assert of_kind(told, "output_item.done") == []
    response = told[-1]["response"]
    assert response["status"] == "failed"
    assert response["error"] == {"code": "server_error", "message": "the stream broke"}
    assert [item["status"] for item in response["output"]] == ["incomplete", "incomplete"]


@pytest.mark.req("P5")
@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (OverBudget("The budget is spent.", 30.0), "insufficient_quota", "The budget is spent."),
        (Overloaded("Full.", 2.4), "rate_limit_exceeded", "Full. Please try again in 2s."),
        (
            ProviderUnavailable("Busy.", 12.0),
            "rate_limit_exceeded",
            "Busy. Please try again in 12s.",
        ),
        (ProviderUnavailable("Away."), "server_error", "Away."),
        (ProviderRejected("No.", everywhere=True), "invalid_prompt", "No."),
        (ProviderRejected("Not here."), "server_error", "Not here."),
    ],
)
def test_failures_have_the_codes_that_clients_decide_by(error, code, words):
    told = streamed([], error)
    assert kinds(told) == ["created", "in_progress", "failed"]
    assert told[-1]["response"]["error"] == {"code": code, "message": words}


@pytest.mark.req("P5")
def test_a_failure_names_the_field_that_the_service_named():
    error = StreamTruncated("It broke.").named("unsupported_value", "temperature")
    told = streamed([TextDelta("Once")], error)
    assert told[-1]["response"]["error"] == {
        "code": "unsupported_value",
        "message": "It broke.",
        "param": "temperature",
    }
