"""The events of a response put together: text, sealed reasoning, tool calls, usage, and the end."""

import msgspec
import pytest

from hermes.errors import ProviderRejected, ProviderUnavailable, StreamTruncated
from hermes.message.parts import ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.provider import CallEnd, ReasoningDelta, TextDelta, ToolCallDelta
from hermes.providers.openai_responses.assembly import ResponsesAssembly
from hermes.providers.openai_responses.settings import ResponsesSettings

SETTINGS = ResponsesSettings(
    name="r",
    model="gpt-5",
    api_key="sk-very-secret-key",
)
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
    "encrypted_content": "sealed==",
}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "clock",
    "arguments": '{"zone":1}',
}
USAGE = {
    "input_tokens": 1000,
    "input_tokens_details": {"cached_tokens": 400},
    "output_tokens": 100,
    "output_tokens_details": {"reasoning_tokens": 30},
}


def assembly() -> ResponsesAssembly:
    return ResponsesAssembly(SETTINGS, sent_chars=400, make_id=lambda prefix: f"{prefix}_made")


def event(kind: str, **fields: object) -> bytes:
    return msgspec.json.encode({"type": f"response.{kind}", "sequence_number": 1, **fields})


def message(text: str, **content: str) -> dict:
    piece = content or {"text": text}
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": [piece]}


def said(text: str) -> ResponsesAssembly:
    """Return a response that has said `text` and not yet ended."""
    made = assembly()
    made.feed(event("output_text.delta", output_index=0, delta=text))
    return made


@pytest.mark.req("M5", "M7", "A20")
def test_a_whole_answer_is_assembled_from_its_events():
    made = assembly()
    added = {**CALL, "arguments": ""}
    output = [THOUGHT, message("Hello"), CALL]
    last = {"model": "gpt-5-2026", "status": "completed", "output": output, "usage": USAGE}

    events = [
        found
        for payload in (
            event("created", response={"model": "gpt-5-2026", "output": []}),
            event("in_progress", response={}),
            event("output_item.added", output_index=0, item={"type": "reasoning", "id": "rs_1"}),
            event("reasoning_summary_part.added", output_index=0, part={}),
            event("reasoning_summary_text.delta", output_index=0, delta="One."),
            event("reasoning_summary_part.added", output_index=0, part={}),
            event("reasoning_summary_text.delta", output_index=0, delta="Two."),
            event("output_item.done", output_index=0, item=THOUGHT),
            event("output_item.added", output_index=1, item={"type": "message"}),
            event("output_text.delta", output_index=1, delta="Hel"),
            event("output_text.delta", output_index=1, delta="lo"),
            event("output_item.done", output_index=1, item=message("Hello")),
            event("output_item.added", output_index=2, item=added),
            event("function_call_arguments.delta", output_index=2, delta='{"zone"'),
            event("function_call_arguments.delta", output_index=2, delta=":1}"),
            event("output_item.done", output_index=2, item=CALL),
            event("completed", response=last),
        )
        for found in made.feed(payload)
    ]

    assert events == [
        ReasoningDelta("One."),
        ReasoningDelta("\n\n"),
        ReasoningDelta("Two."),
        ReasoningDelta(
            "",
            whole=(
                ReasoningPart("One.", "responses", sealed="sealed==", id="rs_1"),
                ReasoningPart("Two.", "responses", id="rs_1"),
            ),
        ),
        TextDelta("Hel"),
        TextDelta("lo"),
        ToolCallDelta(0, "call_1", "clock"),
        ToolCallDelta(0, arguments='{"zone"'),
        ToolCallDelta(0, arguments=":1}"),
    ]
    assert made.done
    assert made.end() == CallEnd(
        (
            ReasoningPart("One.", "responses", sealed="sealed==", id="rs_1"),
            ReasoningPart("Two.", "responses", id="rs_1"),
            TextPart("Hello"),
            ToolCallPart("call_1", "clock", '{"zone":1}'),
        ),
        "tool_calls",
        Usage(1000, 100, 400, 30),
        "gpt-5-2026",
    )


@pytest.mark.req("M3")
def test_items_count_also_when_the_last_event_leaves_the_output_out():
    made = said("Hello")
    made.feed(event("output_item.done", output_index=1, item=CALL))
    made.feed(event("output_item.done", output_index=0, item=message("Hello")))
    made.feed(event("completed", response={"output": [], "usage": USAGE}))

    assert made.end().parts == (TextPart("Hello"), ToolCallPart("call_1", "clock", '{"zone":1}'))


@pytest.mark.req("M3")
def test_reasoning_that_is_not_sealed_is_shown_but_not_kept():
    made = assembly()
    events = made.feed(event("reasoning_text.delta", output_index=0, delta="hm"))
    open_thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    made.feed(event("completed", response={"output": [open_thought, message("yes")]}))

    assert list(events) == [ReasoningDelta("hm")]
    assert made.end().parts == (TextPart("yes"),)


@pytest.mark.req("M1", "M5")
@pytest.mark.parametrize(
    ("reason", "stop"), [("max_output_tokens", "length"), ("content_filter", "refusal")]
)
def test_an_incomplete_answer_says_why_and_keeps_only_whole_calls(reason, stop):
    made = said("Hel")
    output = [message("Hel"), {**CALL, "arguments": '{"zone"', "status": "incomplete"}]
    made.feed(
        event("incomplete", response={"output": output, "incomplete_details": {"reason": reason}})
    )

    end = made.end()

    assert (end.parts, end.stop_reason) == ((TextPart("Hel"),), stop)


@pytest.mark.req("M1")
def test_a_refusal_is_text_and_says_so():
    made = assembly()
    events = made.feed(event("refusal.delta", output_index=0, delta="I cannot."))
    made.feed(event("completed", response={"output": [message("", refusal="I cannot.")]}))

    end = made.end()

    assert list(events) == [TextDelta("I cannot.", refusal=True)]
    assert (end.parts, end.stop_reason) == ((TextPart("I cannot."),), "refusal")
    assert end.refusal == "I cannot."


@pytest.mark.req("A20")
def test_a_service_that_counts_nothing_is_estimated_not_free():
    made = said("x" * 40)
    made.feed(event("completed", response={"output": [message("x" * 40)]}))

    assert made.end().usage == Usage(100, 10)


@pytest.mark.req("P5")
@pytest.mark.parametrize("payloads", [(), (b"[DONE]",)])
def test_a_stream_without_its_end_is_truncated_even_when_it_said_much(payloads):
    made = said("almost")
    made.feed(event("output_item.done", output_index=0, item=message("almost")))
    for payload in payloads:
        made.feed(payload)

    with pytest.raises(StreamTruncated, match="without its end event"):
        made.end()


@pytest.mark.req("P5", "W35")
@pytest.mark.parametrize(
    ("payload", "early"),
    [
        (
            event("failed", response={"error": {"code": "server_error", "message": "down"}}),
            ProviderUnavailable,
        ),
        (
            event("failed", response={"error": {"code": "invalid_prompt", "message": "down"}}),
            ProviderRejected,
        ),
        (
            msgspec.json.encode({"type": "error", "code": "x", "message": "down"}),
            ProviderUnavailable,
        ),
        (
            msgspec.json.encode({"type": "error", "error": {"message": "down"}}),
            ProviderUnavailable,
        ),
    ],
)
def test_an_error_inside_the_stream_may_fail_over_only_before_the_first_output(payload, early):
    with pytest.raises(early, match="down") as caught:
        assembly().feed(payload)
    with pytest.raises(StreamTruncated, match="down"):
        said("x").feed(payload)

    assert type(caught.value) is early


@pytest.mark.req("W35")
def test_the_key_is_not_repeated_from_an_error():
    broken = event("failed", response={"error": {"message": "bad key sk-very-secret-key"}})

    with pytest.raises(ProviderUnavailable) as caught:
        assembly().feed(broken)

    assert "secret" not in str(caught.value)


@pytest.mark.req("P5")
@pytest.mark.parametrize("payload", [b"{", b'{"type":3}', b"\xff", b'{"type":"error","code":[]}'])
def test_an_event_that_is_none_is_translated(payload):
    with pytest.raises(ProviderUnavailable, match="not an event of a response"):
        assembly().feed(payload)


@pytest.mark.req("M1", "P5")
@pytest.mark.parametrize(
    "item",
    [
        {"type": "hologram", "content": "not a list", "id": "h_1"},
        {"type": "tool_search_call", "arguments": {"q": "x"}},
        {"type": 7},
    ],
)
def test_an_item_of_an_unknown_kind_is_skipped_and_named(item):
    made = said("Hello")
    made.feed(event("output_item.added", output_index=1, item=item))
    made.feed(event("output_item.done", output_index=1, item=item))
    made.feed(event("hologram.delta", delta={"x": 1}))
    made.feed(event("completed", response={"output": [item, message("Hello")]}))

    end = made.end()

    kind = item["type"] if isinstance(item["type"], str) else "unknown"
    assert (end.parts, end.stop_reason) == ((TextPart("Hello"),), "end")
    assert (end.skipped, end.is_verbatim) == ((kind,), False)


@pytest.mark.req("M7", "P5")
def test_reasoning_that_is_not_encrypted_is_part_of_the_answer_as_it_was_shown():
    made = assembly()
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"text": "Hm."}]}
    events = [
        *made.feed(event("reasoning_text.delta", output_index=0, delta="Hm.")),
        *made.feed(event("output_item.done", output_index=0, item=item)),
    ]
    made.feed(event("completed", response={"output": [item, message("Yes.")]}))

    end = made.end()

    thought = ReasoningPart("Hm.", "responses", id="rs_1")
    assert events == [ReasoningDelta("Hm."), ReasoningDelta("", whole=(thought,))]
    assert end.parts == (thought, TextPart("Yes."))
    assert not end.thoughts_go_back


@pytest.mark.req("A23")
def test_the_code_and_the_field_of_a_failure_inside_the_stream_are_kept():
    failed = event("failed", response={"error": {"code": "invalid_prompt", "message": "no"}})
    told = msgspec.json.encode(
        {"type": "error", "code": "unsupported_value", "param": "top_p", "message": "no"}
    )

    with pytest.raises(ProviderRejected) as early:
        assembly().feed(failed)
    with pytest.raises(StreamTruncated) as late:
        said("Hel").feed(told)

    assert early.value.service_code == "invalid_prompt"
    assert (late.value.service_code, late.value.param) == ("unsupported_value", "top_p")
