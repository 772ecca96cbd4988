"""Streamed chunks put together: text, reasoning, parallel tool calls, usage, and the end."""

import msgspec
import pytest

from hermes.errors import ProviderUnavailable, StreamTruncated
from hermes.message.parts import TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.provider import CallEnd, ReasoningDelta, TextDelta
from hermes.providers.openai.assembly import Assembly
from hermes.providers.openai.failures import failure
from hermes.providers.openai.settings import OpenAISettings

SETTINGS = OpenAISettings(
    name="m",
    model="m-1",
    api_key="sk-very-secret-key",
    price_in_per_million=2.0,
    price_out_per_million=10.0,
    price_cached_per_million=1.0,
)


def assembly() -> Assembly:
    return Assembly(SETTINGS, sent_chars=400, make_id=lambda prefix: f"{prefix}_made")


def delta(finish: str | None = None, **fields: object) -> bytes:
    return msgspec.json.encode({"choices": [{"delta": fields, "finish_reason": finish}]})


def piece(index: int | None = None, id_: str | None = None, **function: str) -> dict:
    made: dict = {"function": function}
    return made | ({"index": index} if index is not None else {}) | ({"id": id_} if id_ else {})


@pytest.mark.req("M5", "M7", "A20")
def test_a_whole_answer_is_assembled_from_interleaved_pieces():
    made = assembly()
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 400},
        "completion_tokens_details": {"reasoning_tokens": 30},
    }

    events = [
        made.feed(payload)
        for payload in (
            delta(role="assistant", content=""),
            delta(reasoning_content="hmm"),
            delta(content="Hel"),
            delta(content="lo"),
            delta(tool_calls=[piece(0, "c0", name="a", arguments="")]),
            delta(tool_calls=[piece(1, "c1", name="b", arguments="")]),
            delta(tool_calls=[piece(0, arguments='{"x"'), piece(1, arguments="{}")]),
            delta(tool_calls=[piece(0, arguments=":1}")]),
            delta("tool_calls"),
            msgspec.json.encode({"choices": [], "usage": usage, "model": "m-1-0613"}),
            b"[DONE]",
        )
    ]

    assert [event for event in events if event] == [
        ReasoningDelta("hmm"),
        TextDelta("Hel"),
        TextDelta("lo"),
    ]
    cost = (600 * 2.0 + 400 * 1.0 + 100 * 10.0) / 1_000_000
    assert made.end() == CallEnd(
        (
            TextPart("Hello"),
            ToolCallPart("c0", "a", '{"x":1}'),
            ToolCallPart("c1", "b", "{}"),
        ),
        "tool_calls",
        Usage(1000, 100, 400, 30, cost),
        "m-1-0613",
    )


@pytest.mark.req("M5")
def test_calls_without_index_or_id_are_kept_apart_and_named():
    made = assembly()
    made.feed(delta(tool_calls=[piece(None, "c0", name="a", arguments="{}")]))
    made.feed(delta("stop", tool_calls=[piece(None, "c1", name="b")]))
    nameless = assembly()
    nameless.feed(delta("stop", tool_calls=[piece(0, name="a", arguments="{}")]))

    assert made.end().parts == (ToolCallPart("c0", "a", "{}"), ToolCallPart("c1", "b", "{}"))
    assert made.end().stop_reason == "tool_calls"
    assert nameless.end().parts == (ToolCallPart("call_made", "a", "{}"),)


@pytest.mark.req("M5")
def test_a_tool_call_cut_off_by_the_limit_is_not_handed_on():
    made = assembly()
    made.feed(delta(tool_calls=[piece(0, "c0", name="a", arguments='{"x":1}')]))
    made.feed(delta("length", tool_calls=[piece(1, "c1", name="b", arguments='{"y":')]))

    end = made.end()

    assert (end.parts, end.stop_reason) == ((ToolCallPart("c0", "a", '{"x":1}'),), "length")


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("finish", "reason"),
    [("stop", "end"), ("length", "length"), ("content_filter", "refusal"), ("odd", "end")],
)
def test_the_reason_of_the_end_is_translated(finish, reason):
    made = assembly()
    made.feed(delta(content="x"))
    made.feed(delta(finish))

    assert made.end().stop_reason == reason


@pytest.mark.req("M1")
def test_a_refusal_is_text_and_says_so():
    made = assembly()
    event = made.feed(delta(refusal="I cannot."))
    made.feed(delta("stop"))

    end = made.end()

    assert event == TextDelta("I cannot.")
    assert (end.parts, end.stop_reason) == ((TextPart("I cannot."),), "refusal")


@pytest.mark.req("A20")
def test_a_service_that_counts_nothing_is_estimated_not_free():
    made = assembly()
    made.feed(delta("stop", content="x" * 40))

    usage = made.end().usage

    assert (usage.tokens_in, usage.tokens_out, usage.cost_usd > 0) == (100, 10, True)


@pytest.mark.req("P5")
def test_a_stream_without_its_end_is_truncated_even_when_it_said_much():
    made = assembly()
    made.feed(delta(content="almost"))

    with pytest.raises(StreamTruncated, match="without its end marker"):
        made.end()


@pytest.mark.req("P5", "W35")
def test_an_error_inside_the_stream_may_fail_over_only_before_the_first_output():
    broken = msgspec.json.encode(
        {"error": {"message": "overloaded, key sk-very-secret-key"}, "choices": []}
    )
    late = assembly()
    late.feed(delta(content="x"))

    with pytest.raises(ProviderUnavailable, match="overloaded") as early:
        assembly().feed(broken)
    with pytest.raises(StreamTruncated, match="overloaded"):
        late.feed(broken)

    assert "secret" not in str(early.value)


@pytest.mark.req("P5")
@pytest.mark.parametrize("payload", [b"{", b'{"choices":3}', b"\xff"])
def test_a_chunk_that_is_none_is_translated(payload):
    with pytest.raises(ProviderUnavailable, match="no chat-completion chunk"):
        assembly().feed(payload)


@pytest.mark.req("A23", "W35")
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "provider_rejected"),
        (401, "provider_rejected"),
        (403, "provider_rejected"),
        (404, "provider_rejected"),
        (422, "provider_rejected"),
        (308, "provider_rejected"),
        (402, "provider_unavailable"),
        (408, "provider_unavailable"),
        (429, "provider_unavailable"),
        (500, "provider_unavailable"),
        (529, "provider_unavailable"),
    ],
)
def test_an_answer_other_than_200_says_what_the_caller_can_do(status, kind):
    error = failure("m", status, headers={}, body=b"{}", secret=None)

    assert error.code == kind


@pytest.mark.req("W35")
@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"Incorrect API key provided: sk-ve***key."}}',
        b'{"error":"bad key my-own-secret"}',
        b'{"detail":"Bearer abcdef is wrong"}',
        b"<html>my-own-secret</html>" + b"x" * 5000,
    ],
)
def test_the_services_words_are_short_and_without_secrets(body):
    text = str(failure("m", 401, headers={}, body=body, secret="my-own-secret"))

    assert "****" in text
    assert len(text) < 600
    assert not any(word in text for word in ("my-own-secret", "sk-ve", "abcdef"))


@pytest.mark.req("A26")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "2.5"}, 2.5),
        (
            {
                "Retry-After": "Sun, 15 Nov 2026 10:00:30 GMT",
                "Date": "Sun, 15 Nov 2026 10:00:00 GMT",
            },
            30.0,
        ),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_the_services_own_waiting_time_is_kept(headers, seconds):
    error = failure("m", 429, headers=headers, body=b"{}", secret=None)

    assert isinstance(error, ProviderUnavailable)
    assert error.retry_after == seconds
