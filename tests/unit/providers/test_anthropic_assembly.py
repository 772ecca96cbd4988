"""Streamed events put together: answers by a tool, usage, limits, refusals, errors and the end.

That whole answers mean what the official SDK reads from them is proven in tests/oracle.
"""

import msgspec
import pytest

from hermes.errors import ProviderRejected, ProviderUnavailable, StreamTruncated
from hermes.message.parts import ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.provider import CallEnd, ModelEvent, ReasoningDelta, TextDelta, ToolCallDelta
from hermes.providers.anthropic.assembly import AnthropicAssembly
from hermes.providers.anthropic.settings import AnthropicSettings
from hermes.providers.anthropic.wire import AnswerTool

SETTINGS = AnthropicSettings(
    name="m",
    model="m-1",
    api_key="very-secret-key",
)
PLAIN = AnswerTool("answer", msgspec.Raw(b"{}"), wrapped=False)
WRAPPED = AnswerTool("answer", msgspec.Raw(b"{}"), wrapped=True)
STOP = {"type": "message_stop"}


def assembly(
    settings: AnthropicSettings = SETTINGS, answer: AnswerTool | None = None
) -> AnthropicAssembly:
    return AnthropicAssembly(
        settings, sent_chars=400, make_id=lambda prefix: f"{prefix}_made", answer=answer
    )


def fed(made: AnthropicAssembly, *events: dict) -> list[ModelEvent]:
    return [got for event in events for got in made.feed(msgspec.json.encode(event))]


def opened(index: int, **block: object) -> dict:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **change: object) -> dict:
    return {"type": "content_block_delta", "index": index, "delta": change}


def closed(index: int) -> dict:
    return {"type": "content_block_stop", "index": index}


def stopped(reason: str | None, **usage: int) -> dict:
    told = {"usage": usage} if usage else {}
    return {"type": "message_delta", "delta": {"stop_reason": reason}, **told}


def call(index: int, name: str, *pieces: str) -> list[dict]:
    return [
        opened(index, type="tool_use", id=f"t{index}", name=name, input={}),
        *(delta(index, type="input_json_delta", partial_json=piece) for piece in pieces),
        closed(index),
    ]


@pytest.mark.req("A20")
def test_all_input_is_counted_and_what_the_cache_read_and_wrote_is_told():
    made = assembly()
    usage = {
        "input_tokens": 100,
        "output_tokens": 1,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 400,
    }
    start = {"type": "message_start", "message": {"model": "m-1-0613", "usage": usage}}

    fed(made, start, opened(0, type="text", text="x"), stopped("end_turn", output_tokens=50), STOP)

    assert made.end() == CallEnd(
        (TextPart("x"),), "end", Usage(1500, 50, 1000, cache_written=400), "m-1-0613"
    )


@pytest.mark.req("A20")
def test_a_service_that_counts_nothing_is_estimated_not_free():
    made = assembly()
    fed(made, opened(0, type="text", text="x" * 40), stopped("end_turn"), STOP)

    assert made.end().usage == Usage(100, 10)


@pytest.mark.req("M5")
def test_calls_are_streamed_under_their_own_numbers():
    made = assembly()

    events = fed(
        made,
        opened(0, type="text", text="a"),
        *call(1, "x", "", '{"p"', ":1}"),
        *call(2, "y"),
        opened(3, type="tool_use", name="nameless", input={"q": 1}),
        stopped("tool_use"),
        STOP,
    )

    assert events == [
        TextDelta("a"),
        ToolCallDelta(0, "t1", "x"),
        ToolCallDelta(0, arguments='{"p"'),
        ToolCallDelta(0, arguments=":1}"),
        ToolCallDelta(1, "t2", "y"),
        ToolCallDelta(1, arguments="{}"),
        ToolCallDelta(2, "call_made", "nameless"),
    ]
    assert made.end().parts == (
        TextPart("a"),
        ToolCallPart("t1", "x", '{"p":1}'),
        ToolCallPart("t2", "y", "{}"),
        ToolCallPart("call_made", "nameless", '{"q":1}'),
    )


@pytest.mark.req("M7")
def test_signatures_and_sealed_thoughts_are_streamed_in_their_order():
    made = assembly()

    events = fed(
        made,
        opened(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="hm"),
        delta(0, type="signature_delta", signature="c2ln"),
        closed(0),
        opened(1, type="redacted_thinking", data="RU5D"),
        closed(1),
        opened(2, type="thinking", thinking="no signature"),
        closed(2),
        opened(3, type="text", text="a"),
        closed(3),
    )

    assert events == [
        ReasoningDelta("hm"),
        ReasoningDelta("", signature="c2ln"),
        ReasoningDelta("", sealed="RU5D"),
        ReasoningDelta("no signature"),
        TextDelta("a"),
    ]


@pytest.mark.req("M5")
@pytest.mark.parametrize(("reason", "told"), [("max_tokens", "length"), ("refusal", "refusal")])
def test_a_tool_call_cut_off_is_not_handed_on(reason, told):
    made = assembly()
    fed(made, *call(0, "x", '{"a":1}'), *call(1, "y", '{"b":'), stopped(reason), STOP)

    end = made.end()

    assert (end.parts, end.stop_reason) == ((ToolCallPart("t0", "x", '{"a":1}'),), told)


@pytest.mark.req("M5")
def test_a_reason_that_comes_later_is_an_end_and_calls_are_never_lost():
    odd = assembly()
    fed(odd, opened(0, type="text", text="x"), stopped("news"), STOP)
    calling = assembly()
    fed(calling, *call(0, "x"), stopped("end_turn"), STOP)

    assert odd.end().stop_reason == "end"
    assert calling.end().stop_reason == "tool_calls"


@pytest.mark.req("M6")
@pytest.mark.parametrize(
    ("answer", "pieces", "shown", "text"),
    [
        (PLAIN, ('{"a"', ":1}"), ['{"a"', ":1}"], '{"a":1}'),
        (PLAIN, (), ["{}"], "{}"),
        (WRAPPED, ('{"value": [1', ", 2]}"), ["[1, 2]"], "[1, 2]"),
        (WRAPPED, ('{"odd":1}',), ['{"odd":1}'], '{"odd":1}'),
        (WRAPPED, ('{"val',), ['{"val'], '{"val'),
    ],
)
def test_an_answer_given_by_a_tool_is_text(answer, pieces, shown, text):
    made = assembly(answer=answer)

    events = fed(made, *call(0, "answer", *pieces), stopped("tool_use"), STOP)

    assert events == [TextDelta(piece) for piece in shown]
    assert (made.end().parts, made.end().stop_reason) == ((TextPart(text),), "end")


@pytest.mark.req("M6")
def test_an_answers_tool_does_not_hide_the_others():
    made = assembly(answer=PLAIN)

    fed(made, *call(0, "clock", "{}"), *call(1, "answer", '{"a":1}'), stopped("tool_use"), STOP)

    assert made.end().parts == (ToolCallPart("t0", "clock", "{}"), TextPart('{"a":1}'))
    assert made.end().stop_reason == "tool_calls"


@pytest.mark.req("M7")
def test_thoughts_without_words_or_signature_are_none():
    made = assembly()
    fed(
        made,
        opened(0, type="thinking", thinking="", signature=""),
        opened(1, type="thinking", thinking="hm", signature=""),
        opened(2, type="later_kind"),
        delta(2, type="later_delta", text="ignored"),
        stopped("end_turn"),
        STOP,
    )

    assert made.end().parts == (ReasoningPart("hm", "anthropic"),)


@pytest.mark.req("P5")
@pytest.mark.parametrize(
    "events",
    [
        [opened(0, type="text", text="almost")],
        [opened(0, type="text", text="almost"), stopped("end_turn")],
        [opened(0, type="text", text="almost"), STOP],
        [],
    ],
)
def test_a_stream_without_its_reason_and_its_end_is_truncated(events):
    made = assembly()
    fed(made, *events)

    with pytest.raises(StreamTruncated, match="without its end marker"):
        made.end()


def error(kind: str) -> dict:
    told = {"type": kind, "message": "trouble with very-secret-key\n" + "x" * 2000}
    return {"type": "error", "error": told}


@pytest.mark.req("P5", "A23", "W35")
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", ProviderUnavailable),
        ("rate_limit_error", ProviderUnavailable),
        ("api_error", ProviderUnavailable),
        ("later_error", ProviderUnavailable),
        ("invalid_request_error", ProviderRejected),
        ("authentication_error", ProviderRejected),
    ],
)
def test_an_error_inside_the_stream_says_what_the_caller_can_do(kind, expected):
    begun = {"type": "message_start", "message": {"model": "m"}}

    with pytest.raises(expected, match=f"{kind}: trouble") as early:
        fed(assembly(), begun, opened(0, type="text", text=""), error(kind))
    with pytest.raises(StreamTruncated, match=kind):
        fed(assembly(), opened(0, type="text", text="x"), error(kind))

    assert type(early.value) is expected
    assert "secret" not in str(early.value)
    assert len(str(early.value)) < 700


@pytest.mark.req("P5")
@pytest.mark.parametrize("payload", [b"{", b"[]", b'{"type":3}', b"\xff", b"[DONE]"])
def test_an_event_that_is_none_is_translated(payload):
    late = assembly()
    fed(late, opened(0, type="text", text="x"))

    with pytest.raises(ProviderUnavailable, match="not an event of a message"):
        assembly().feed(payload)
    for _ in range(3):
        assert late.feed(payload) == ()
    with pytest.raises(StreamTruncated, match="not an event of a message"):
        late.feed(payload)


@pytest.mark.req("P5")
@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([delta(3, type="text_delta", text="x")], "block 3, which it never opened"),
        ([opened(0, type="text"), opened(0, type="text")], "block 0 twice"),
    ],
)
def test_events_that_contradict_each_other_are_an_error(events, words):
    with pytest.raises(ProviderUnavailable, match=words):
        fed(assembly(), *events)


@pytest.mark.req("M1")
def test_the_stop_sequence_that_ended_the_answer_is_kept():
    made = assembly()
    stop = {"stop_reason": "stop_sequence", "stop_sequence": "END"}
    fed(made, opened(0, type="text", text="x"))
    made.feed(msgspec.json.encode({"type": "message_delta", "delta": stop}))
    made.feed(b'{"type":"message_stop"}')

    end = made.end()

    assert (end.stop_reason, end.stop_sequence) == ("end", "END")


@pytest.mark.req("M1", "P5")
def test_a_block_of_an_unknown_kind_is_skipped_and_named():
    made = assembly()
    fed(made, opened(0, type="hologram"), opened(1, type="text", text="x"))
    made.feed(b'{"type":"message_delta","delta":{"stop_reason":"end_turn"}}')
    made.feed(b'{"type":"message_stop"}')

    assert (made.end().parts, made.end().skipped) == ((TextPart("x"),), ("hologram",))
