"""Streamed Gemini chunks put together: parts and signatures in order, usage, and the end."""

from typing import Any

import msgspec
import pytest

from hermes.errors import ProviderRejected, ProviderUnavailable, StreamTruncated
from hermes.message.parts import ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.options import AltToken, TokenLogprob
from hermes.ports.provider import CallEnd, ReasoningDelta, TextDelta, ToolCallDelta
from hermes.providers.gemini.assembly import GeminiAssembly
from hermes.providers.gemini.settings import GeminiSettings

SETTINGS = GeminiSettings(
    name="gemini",
    model="gemini-3-pro",
    api_key="AIza-very-secret-key",
)


def assembly() -> GeminiAssembly:
    ids = iter(range(100))
    return GeminiAssembly(
        SETTINGS, model="asked", sent_chars=400, make_id=lambda prefix: f"{prefix}_{next(ids)}"
    )


def chunk(*parts: dict, finish: str | None = None, **fields: Any) -> bytes:
    candidate: dict = {"content": {"parts": list(parts), "role": "model"}, "finishReason": finish}
    return msgspec.json.encode({"candidates": [candidate], **fields})


@pytest.mark.req("M5", "M7", "A20")
def test_a_whole_answer_keeps_the_order_and_the_signatures_of_its_parts():
    made = assembly()
    usage = {
        "promptTokenCount": 1000,
        "toolUsePromptTokenCount": 20,
        "cachedContentTokenCount": 400,
        "candidatesTokenCount": 70,
        "thoughtsTokenCount": 30,
    }

    events = [
        event
        for payload in (
            chunk({"text": "h", "thought": True}),
            chunk({"text": "m", "thought": True}, {"text": "Hel"}),
            chunk({"text": "lo"}),
            chunk({"text": "!", "thoughtSignature": "cw=="}),
            chunk({"functionCall": {"name": "a", "args": {"x": 1}}, "thoughtSignature": "dA=="}),
            chunk({"functionCall": {"name": "b", "id": "given", "args": None}}),
            chunk({"thoughtSignature": "dQ=="}, finish="STOP", usageMetadata=usage),
        )
        for event in made.feed(payload)
    ]

    assert events == [
        ReasoningDelta("h"),
        ReasoningDelta("m"),
        ReasoningDelta("", whole=(ReasoningPart("hm", "gemini"),)),
        TextDelta("Hel"),
        TextDelta("lo"),
        ReasoningDelta("", whole=(ReasoningPart("", "gemini", signature="cw==", id="next"),)),
        TextDelta("!"),
        ReasoningDelta("", whole=(ReasoningPart("", "gemini", signature="dA==", id="call_0"),)),
        ToolCallDelta(0, "call_0", "a", '{"x":1}'),
        ToolCallDelta(1, "given", "b", "{}"),
        ReasoningDelta("", whole=(ReasoningPart("", "gemini", signature="dQ==", id="alone"),)),
    ]
    assert made.end() == CallEnd(
        (
            ReasoningPart("hm", "gemini"),
            TextPart("Hello"),
            ReasoningPart("", "gemini", signature="cw==", id="next"),
            TextPart("!"),
            ReasoningPart("", "gemini", signature="dA==", id="call_0"),
            ToolCallPart("call_0", "a", '{"x":1}'),
            ToolCallPart("given", "b", "{}"),
            ReasoningPart("", "gemini", signature="dQ==", id="alone"),
        ),
        "tool_calls",
        Usage(1020, 100, 400, 30),
        "asked",
    )


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("STOP", "end"),
        ("MAX_TOKENS", "length"),
        ("CONTINUATION", "length"),
        ("SAFETY", "refusal"),
        ("RECITATION", "refusal"),
        ("LANGUAGE", "refusal"),
        ("BLOCKLIST", "refusal"),
        ("PROHIBITED_CONTENT", "refusal"),
        ("SPII", "refusal"),
        ("OTHER", "refusal"),
        ("MODEL_ARMOR", "refusal"),
        ("ESCALATION", "refusal"),
    ],
)
def test_the_reason_of_the_end_is_translated(finish, reason):
    made = assembly()
    made.feed(chunk({"text": "x"}, finish=finish))

    assert made.end().stop_reason == reason


@pytest.mark.req("P5", "A23")
@pytest.mark.parametrize(
    "finish",
    ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "NO_IMAGE", "NEW"],
)
def test_a_reason_that_makes_no_answer_is_a_failure(finish):
    early, late = assembly(), assembly()
    early.feed(chunk(finish=finish))
    late.feed(chunk({"text": "x"}, finish=finish))

    with pytest.raises(ProviderUnavailable, match=finish):
        early.end()
    with pytest.raises(StreamTruncated, match=finish):
        late.end()


@pytest.mark.req("M5", "P5")
def test_a_complete_call_survives_a_reason_that_is_new():
    made = assembly()
    made.feed(chunk({"functionCall": {"name": "a", "args": {"x": 1}}}, finish="NEW_REASON"))

    end = made.end()

    assert end.parts == (ToolCallPart("call_0", "a", '{"x":1}'),)
    assert (end.stop_reason, end.skipped) == ("tool_calls", ("finishReason.NEW_REASON",))


@pytest.mark.req("M5", "P5")
def test_a_call_of_an_account_that_was_limited_meanwhile_is_not_passed_on():
    made = assembly()
    made.feed(chunk({"functionCall": {"name": "a"}}, finish="PUP_LIMITED_DISABLED"))

    with pytest.raises(StreamTruncated, match="PUP_LIMITED_DISABLED"):
        made.end()


@pytest.mark.req("A23")
def test_a_missing_signature_is_the_requests_own_fault():
    made = assembly()
    made.feed(chunk(finish="MISSING_THOUGHT_SIGNATURE"))

    with pytest.raises(ProviderRejected, match="MISSING_THOUGHT_SIGNATURE"):
        made.end()


@pytest.mark.req("M1")
def test_a_blocked_prompt_is_a_refusal():
    made = assembly()
    made.feed(b'{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":9}}')

    end = made.end()

    assert (end.parts, end.stop_reason, end.usage.tokens_in) == ((), "refusal", 9)


@pytest.mark.req("A20")
def test_a_service_that_counts_nothing_is_estimated_not_free():
    made = assembly()
    made.feed(chunk({"text": "x" * 40}, finish="STOP"))

    assert made.end().usage == Usage(100, 10)


@pytest.mark.req("A20")
def test_counts_beyond_reason_are_bounded():
    made = assembly()
    counts = {"promptTokenCount": 5, "cachedContentTokenCount": 50, "candidatesTokenCount": -3}
    made.feed(chunk({"text": "x"}, finish="STOP", usageMetadata=counts))

    assert made.end().usage == Usage(5, 0, 5, 0)


@pytest.mark.req("P5")
def test_a_stream_without_its_end_is_truncated_even_when_it_said_much():
    made = assembly()
    made.feed(chunk({"text": "almost"}))

    with pytest.raises(StreamTruncated, match="without a finish reason"):
        made.end()


@pytest.mark.req("P5", "W35")
@pytest.mark.parametrize(
    ("code", "kind"),
    [(503, ProviderUnavailable), (None, ProviderUnavailable), (400, ProviderRejected)],
)
def test_an_error_inside_the_stream_may_fail_over_only_before_the_first_output(code, kind):
    said = {"code": code, "message": "overloaded, key AIza-very-secret-key"}
    broken = msgspec.json.encode({"error": said})
    late = assembly()
    late.feed(chunk({"text": "x"}))

    with pytest.raises(kind, match="overloaded") as early:
        assembly().feed(broken)
    with pytest.raises(StreamTruncated, match="overloaded"):
        late.feed(broken)

    assert "secret" not in str(early.value)


@pytest.mark.req("P5")
@pytest.mark.parametrize("payload", [b"{", b'{"candidates":3}', b"\xff", b"[DONE]"])
def test_a_chunk_that_is_none_is_translated(payload):
    with pytest.raises(ProviderUnavailable, match="not a generateContent chunk"):
        assembly().feed(payload)
    with pytest.raises(StreamTruncated, match="ended without"):
        assembly().feed_last(payload)


@pytest.mark.req("P5")
def test_an_answer_that_is_no_text_is_not_passed_over():
    picture = {"inlineData": {"mimeType": "image/png", "data": "iVBO"}}

    with pytest.raises(ProviderUnavailable, match="neither text nor a call"):
        assembly().feed(chunk(picture, finish="STOP"))


@pytest.mark.req("M1")
def test_log_probabilities_come_with_their_text():
    made = assembly()
    token = {"token": "Hi", "tokenId": 1, "logProbability": -0.25}
    other = {"token": "Ho", "tokenId": 2, "logProbability": -2.0}
    payload = msgspec.json.encode(
        {
            "candidates": [
                {
                    "content": {"parts": [{"text": "Hi"}]},
                    "finishReason": "STOP",
                    "logprobsResult": {
                        "chosenCandidates": [token],
                        "topCandidates": [{"candidates": [token, other]}],
                    },
                }
            ]
        }
    )
    hi, ho = AltToken("Hi", -0.25, (72, 105)), AltToken("Ho", -2.0, (72, 111))
    expected = (TokenLogprob("Hi", -0.25, (72, 105), (hi, ho)),)

    assert list(made.feed(payload)) == [TextDelta("Hi", logprobs=expected)]
    assert made.end().logprobs == expected
