"""Streamed chunks put together: text, reasoning, parallel tool calls, usage, and the end."""

from typing import Literal

import msgspec
import pytest

from hermes.errors import ProviderUnavailable, StreamTruncated
from hermes.message.parts import ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.provider import CallEnd, ReasoningDelta, TextDelta, ToolCallDelta
from hermes.provider_kit.service_failure import failure
from hermes.providers.openai.assembly import OpenAIAssembly
from hermes.providers.openai.presets import Quirks
from hermes.providers.openai.settings import OpenAISettings

SETTINGS = OpenAISettings(
    name="m",
    model="m-1",
    api_key="sk-very-secret-key",
)


def assembly() -> OpenAIAssembly:
    return OpenAIAssembly(SETTINGS, sent_chars=400, make_id=lambda prefix: f"{prefix}_made")


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
        event
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
        for event in made.feed(payload)
    ]

    assert events == [
        ReasoningDelta("hmm"),
        ReasoningDelta("", whole=(ReasoningPart("hmm", "openai"),)),
        TextDelta("Hel"),
        TextDelta("lo"),
        ToolCallDelta(0, "c0", "a"),
        ToolCallDelta(1, "c1", "b"),
        ToolCallDelta(0, arguments='{"x"'),
        ToolCallDelta(1, arguments="{}"),
        ToolCallDelta(0, arguments=":1}"),
    ]
    assert made.end() == CallEnd(
        (
            ReasoningPart("hmm", "openai"),
            TextPart("Hello"),
            ToolCallPart("c0", "a", '{"x":1}'),
            ToolCallPart("c1", "b", "{}"),
        ),
        "tool_calls",
        Usage(1000, 100, 400, 30),
        "m-1-0613",
        thoughts_go_back=False,
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
@pytest.mark.parametrize("cut", ['{"y":', "[" * 100_000], ids=["open", "deep"])
def test_a_tool_call_cut_off_by_the_limit_is_not_handed_on(cut):
    made = assembly()
    made.feed(delta(tool_calls=[piece(0, "c0", name="a", arguments='{"x":1}')]))
    made.feed(delta("length", tool_calls=[piece(1, "c1", name="b", arguments=cut)]))

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
    events = made.feed(delta(refusal="I cannot."))
    made.feed(delta("stop"))

    end = made.end()

    assert list(events) == [TextDelta("I cannot.", refusal=True)]
    assert (end.parts, end.stop_reason) == ((TextPart("I cannot."),), "refusal")
    assert end.refusal == "I cannot."


@pytest.mark.req("A20")
def test_a_service_that_counts_nothing_is_estimated_not_free():
    made = assembly()
    made.feed(delta("stop", content="x" * 40))

    assert made.end().usage == Usage(100, 10)


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
    with pytest.raises(ProviderUnavailable, match="not a chat-completion chunk"):
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
        ({"Retry-After-Ms": "750", "Retry-After": "1"}, 0.75),
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


def ended_by(
    field: Literal["reasoning_content", "reasoning_details"] | None, *payloads: bytes
) -> CallEnd:
    settings = msgspec.structs.replace(SETTINGS, quirks=Quirks(reasoning_back=field))
    made = OpenAIAssembly(settings, sent_chars=4, make_id=lambda prefix: f"{prefix}_made")
    for payload in payloads:
        made.feed(payload)
    made.feed(delta("stop", content="x"))
    return made.end()


@pytest.mark.req("M3")
@pytest.mark.parametrize(("field", "goes_back"), [(None, False), ("reasoning_content", True)])
def test_reasoning_is_part_of_the_answer_and_goes_back_where_the_service_wants_it(field, goes_back):
    thoughts = (delta(reasoning_content="hm "), delta(reasoning_content="so"))

    end = ended_by(field, *thoughts)

    assert end.parts == (ReasoningPart("hm so", "openai"), TextPart("x"))
    assert end.thoughts_go_back is goes_back


@pytest.mark.req("M3")
def test_the_pieces_of_reasoning_details_are_joined_and_their_seals_kept():
    def detail(index: int, **fields: object) -> bytes:
        return delta(reasoning_details=[{"type": "reasoning.text", "index": index, **fields}])

    end = ended_by(
        "reasoning_details",
        detail(0, text="hm ", format="f"),
        detail(0, text="so", format="f"),
        detail(0, signature="sig=="),
        delta(reasoning_details=[{"type": "reasoning.encrypted", "index": 1, "data": "abc"}]),
    )

    thought = end.parts[0]
    assert isinstance(thought, ReasoningPart)
    assert thought.text == "hm so"
    assert msgspec.json.decode(thought.sealed or "") == [
        {
            "type": "reasoning.text",
            "index": 0,
            "text": "hm so",
            "format": "f",
            "signature": "sig==",
        },
        {"type": "reasoning.encrypted", "index": 1, "data": "abc"},
    ]


@pytest.mark.req("M7")
def test_content_that_comes_in_blocks_is_read_as_text_and_reasoning():
    made = assembly()
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}

    events = [
        *made.feed(delta(content=[thinking])),
        *made.feed(delta("stop", content=[{"type": "text", "text": "yes"}])),
    ]

    thought = ReasoningPart("hm", "openai")
    assert events == [ReasoningDelta("hm"), ReasoningDelta("", whole=(thought,)), TextDelta("yes")]
    assert made.end().parts == (thought, TextPart("yes"))


@pytest.mark.req("M7")
def test_one_chunk_may_bring_reasoning_text_and_a_call_at_once():
    made = assembly()

    events = made.feed(
        delta(reasoning="hm", content="ok", tool_calls=[piece(0, "c0", name="a", arguments="{}")])
    )

    assert list(events) == [
        ReasoningDelta("hm"),
        ReasoningDelta("", whole=(ReasoningPart("hm", "openai"),)),
        TextDelta("ok"),
        ToolCallDelta(0, "c0", "a", "{}"),
    ]


@pytest.mark.req("M5")
def test_a_name_that_is_repeated_with_every_piece_is_told_once():
    made = assembly()

    events = [
        event
        for arguments in ('{"x"', ":1}")
        for event in made.feed(delta(tool_calls=[piece(0, "c0", name="a", arguments=arguments)]))
    ]
    made.feed(delta("tool_calls"))

    assert events == [ToolCallDelta(0, "c0", "a", '{"x"'), ToolCallDelta(0, arguments=":1}")]
    assert made.end().parts == (ToolCallPart("c0", "a", '{"x":1}'),)


@pytest.mark.req("M5")
def test_a_call_without_id_is_told_by_the_id_that_it_keeps():
    made = assembly()

    events = made.feed(delta("stop", tool_calls=[piece(0, name="a")]))

    assert list(events) == [ToolCallDelta(0, "call_made", "a")]
    assert made.end().parts == (ToolCallPart("call_made", "a", "{}"),)


@pytest.mark.req("P5", "A23")
def test_an_end_marker_alone_is_no_answer_and_a_failed_end_is_none_either():
    empty = assembly()
    empty.feed(b"[DONE]")
    late = assembly()
    late.feed(delta(content="x"))

    with pytest.raises(StreamTruncated):
        empty.end()
    with pytest.raises(ProviderUnavailable, match="stopped in the middle"):
        assembly().feed(delta("error"))
    with pytest.raises(StreamTruncated, match="stopped in the middle"):
        late.feed(delta("error"))


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    "fields",
    [
        {"prompt_tokens_details": {"cached_tokens": 40}},
        {"prompt_cache_hit_tokens": 40},
        {"cached_tokens": 40},
    ],
)
def test_cached_tokens_are_found_wherever_the_service_tells_them(fields):
    made = assembly()
    usage = {"prompt_tokens": 100, "completion_tokens": 1, **fields}
    made.feed(delta("stop", content="x"))
    made.feed(msgspec.json.encode({"choices": [], "usage": usage}))

    assert made.end().usage == Usage(100, 1, 40, 0)


@pytest.mark.req("P5")
def test_what_cannot_be_read_is_skipped_only_where_the_answer_goes_on():
    on, at_the_end, calling = assembly(), assembly(), assembly()
    for made in (on, at_the_end, calling):
        made.feed(delta(content="Good "))
        assert made.feed(b"}{") == ()
    on.feed(delta("stop", content="day"))
    at_the_end.feed(delta("stop"))
    calling.feed(delta("tool_calls", tool_calls=[piece(0, "c0", name="a", arguments="{}")]))

    end = on.end()

    assert (end.parts, end.skipped, end.is_verbatim) == (
        (TextPart("Good day"),),
        ("unreadable",),
        False,
    )
    with pytest.raises(StreamTruncated, match="unreadable where the answer should end"):
        at_the_end.end()
    with pytest.raises(StreamTruncated, match="unreadable within an answer that calls tools"):
        calling.end()


@pytest.mark.req("M1")
@pytest.mark.parametrize(("told", "kept"), [("END", "END"), (128009, None), (None, None)])
def test_the_stop_sequence_that_a_server_names_is_kept(told, kept):
    made = assembly()
    made.feed(delta(content="x"))
    choice = {"delta": {}, "finish_reason": "stop", "stop_reason": told}
    made.feed(msgspec.json.encode({"choices": [choice]}))

    assert (made.end().stop_reason, made.end().stop_sequence) == ("end", kept)


@pytest.mark.req("M1")
def test_text_before_a_refusal_stays_text():
    made = assembly()
    events = [*made.feed(delta(content="Well. ")), *made.feed(delta(refusal="No."))]
    made.feed(delta("stop"))

    end = made.end()

    assert events == [TextDelta("Well. "), TextDelta("No.", starts_part=True, refusal=True)]
    assert end.parts == (TextPart("Well. "), TextPart("No."))
    assert (end.stop_reason, end.refusal) == ("refusal", "No.")


@pytest.mark.req("A23", "W35")
@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        (
            {"code": "unsupported_value", "param": "tools[0].name"},
            "unsupported_value",
            "tools[0].name",
        ),
        ({"code": 400, "param": None}, None, None),
        ({"code": "two words", "param": "a b"}, None, None),
        ({"code": "sk-very-secret-key", "param": "sk-very-secret-key"}, None, None),
        ({"code": "x" * 65, "param": "x" * 201}, None, None),
        ({"code": ["a"], "param": {"a": 1}}, None, None),
    ],
)
def test_the_services_code_and_field_are_kept_if_they_are_names(fields, code, param):
    body = msgspec.json.encode({"error": {"message": "no", **fields}})

    error = failure("m", 400, headers={}, body=body, secret="sk-very-secret-key")

    assert (error.service_code, error.param) == (code, param)
