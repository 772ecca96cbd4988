"""The lines of an Ollama chat put together: text, thinking, tool calls, counts, and the end."""

import msgspec
import pytest

from hermes.errors import ProviderUnavailable, StreamTruncated
from hermes.message.parts import ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.options import AltToken, TokenLogprob
from hermes.ports.provider import CallEnd, ReasoningDelta, TextDelta, ToolCallDelta
from hermes.providers.ollama.assembly import OllamaAssembly
from hermes.providers.ollama.settings import OllamaSettings

SETTINGS = OllamaSettings(
    name="o",
    model="llama3.2",
    api_key="very-secret-key",
)


def assembly() -> OllamaAssembly:
    return OllamaAssembly(SETTINGS, sent_chars=400, make_id=lambda prefix: f"{prefix}_made")


def line(**message: object) -> bytes:
    told = {"role": "assistant", "content": "", **message}
    return msgspec.json.encode({"model": "llama3.2", "message": told, "done": False})


def last(reason: str = "stop", **counts: int) -> bytes:
    told = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": reason}
    return msgspec.json.encode({"model": "llama3.2", **told, **counts})


@pytest.mark.req("M5", "M7", "A20")
def test_a_whole_answer_is_assembled_from_its_lines():
    made = assembly()
    calls = [
        {"id": "c1", "function": {"index": 0, "name": "clock", "arguments": {"zone": "Oslo"}}},
        {"function": {"name": "clock"}},
    ]

    events = [
        event
        for payload in (
            line(thinking="hm"),
            line(content="Hel"),
            line(content="lo"),
            line(tool_calls=calls),
            last(prompt_eval_count=100, eval_count=10),
        )
        for event in made.feed(payload)
    ]

    assert events == [
        ReasoningDelta("hm"),
        ReasoningDelta("", whole=(ReasoningPart("hm", "ollama"),)),
        TextDelta("Hel"),
        TextDelta("lo"),
        ToolCallDelta(0, "c1", "clock", '{"zone":"Oslo"}'),
        ToolCallDelta(1, "call_made", "clock", "{}"),
    ]
    assert made.done
    assert made.end() == CallEnd(
        (
            ReasoningPart("hm", "ollama"),
            TextPart("Hello"),
            ToolCallPart("c1", "clock", '{"zone":"Oslo"}'),
            ToolCallPart("call_made", "clock", "{}"),
        ),
        "tool_calls",
        Usage(100, 10),
        "llama3.2",
    )


@pytest.mark.req("M3")
def test_thinking_is_kept_only_behind_a_tool_call():
    made = assembly()
    made.feed(line(thinking="hm"))
    made.feed(line(content="yes"))
    made.feed(last())

    assert made.end().parts == (TextPart("yes"),)


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("reason", "stop"), [("stop", "end"), ("length", "length"), ("load", "end")]
)
def test_the_reason_of_the_end_is_translated(reason, stop):
    made = assembly()
    made.feed(line(content="x"))
    made.feed(last(reason))

    assert made.end().stop_reason == stop


@pytest.mark.req("A20")
def test_counts_that_are_left_out_are_estimated_not_free():
    made = assembly()
    made.feed(line(content="x" * 40))
    made.feed(last())

    assert (made.end().usage.tokens_in, made.end().usage.tokens_out) == (100, 10)


@pytest.mark.req("P5")
def test_a_stream_without_its_last_line_is_truncated():
    made = assembly()
    made.feed(line(content="almost"))

    with pytest.raises(StreamTruncated, match="without its last line"):
        made.end()


@pytest.mark.req("P5", "W35")
def test_an_error_inside_the_stream_may_fail_over_only_before_the_first_output():
    broken = msgspec.json.encode({"error": "out of memory, very-secret-key"})
    late = assembly()
    late.feed(line(content="x"))

    with pytest.raises(ProviderUnavailable, match="out of memory") as early:
        assembly().feed(broken)
    with pytest.raises(StreamTruncated, match="out of memory"):
        late.feed(broken)

    assert "secret" not in str(early.value)


@pytest.mark.req("P5")
@pytest.mark.parametrize("payload", [b"{", b'{"message":3}', b"\xff", b"<html>"])
def test_a_line_that_is_none_is_translated(payload):
    with pytest.raises(ProviderUnavailable, match="not a piece of a chat"):
        assembly().feed(payload)


@pytest.mark.req("M1")
def test_log_probabilities_come_with_their_text():
    made = assembly()
    top = [{"token": "Hi", "logprob": -0.25, "bytes": [72, 105]}]
    told = {"token": "Hi", "logprob": -0.25, "bytes": [72, 105], "top_logprobs": top}
    payload = msgspec.json.encode({"message": {"content": "Hi"}, "logprobs": [told]})
    odd = msgspec.json.encode({"message": {"content": "!"}, "logprobs": {"in": "another form"}})
    expected = (TokenLogprob("Hi", -0.25, (72, 105), (AltToken("Hi", -0.25, (72, 105)),)),)

    assert list(made.feed(payload)) == [TextDelta("Hi", logprobs=expected)]
    assert list(made.feed(odd)) == [TextDelta("!")]
    made.feed(last())
    assert made.end().logprobs == expected
