"""The official SDK as the oracle of Anthropic's answers: what it reads from a stream, we read."""

from typing import Any

import anthropic
import httpx2
import msgspec
import pytest
from anthropic.types import Message

from hermes.errors import ProviderError, StreamTruncated
from hermes.message.parts import Part, ReasoningPart, TextPart, ToolCallPart
from hermes.ports.provider import CallEnd, ModelEvent, ReasoningDelta, TextDelta, ToolCallDelta
from hermes.providers.anthropic.assembly import AnthropicAssembly
from hermes.providers.anthropic.provider import WholeEvents
from hermes.providers.anthropic.settings import AnthropicSettings
from tests.oracle.anthropic_streams import EVERYTHING, STREAMS, begin, event, text

SETTINGS = AnthropicSettings(name="oracle", model="m", api_key="sk-ant-api-oracle")
# The SDK keeps the service's words; Hermes has four, and calls what is unfinished unfinished.
REASONS = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "pause_turn": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


def ours(*chunks: bytes) -> tuple[list[ModelEvent], CallEnd]:
    assembly = AnthropicAssembly(SETTINGS, sent_chars=10, make_id=lambda prefix: f"{prefix}_made")
    parser = WholeEvents()
    events: list[ModelEvent] = []
    for payload in [payload for chunk in chunks for payload in parser.feed(chunk)]:
        events.extend(assembly.feed(payload))
    for payload in parser.finish():
        events.extend(assembly.feed(payload))
    return events, assembly.end()


async def theirs(stream: bytes) -> Message:
    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=stream)

    transport = httpx2.MockTransport(answer)
    async with (
        anthropic.AsyncAnthropic(
            api_key="k", max_retries=0, http_client=httpx2.AsyncClient(transport=transport)
        ) as client,
        client.messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        ) as answered,
    ):
        return await answered.get_final_message()


# Any: the SDK's blocks are of many types, each with its own fields.
def part_of(block: Any) -> Part:
    makers: dict[str, Any] = {
        "text": lambda: TextPart(block.text),
        "thinking": lambda: ReasoningPart(block.thinking, "anthropic", block.signature),
        "redacted_thinking": lambda: ReasoningPart("", "anthropic", sealed=block.data),
        "tool_use": lambda: ToolCallPart(block.id, block.name, plain(block.input)),
    }
    made: Part = makers[block.type]()
    return made


# Any: parsed JSON.
def plain(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def with_plain_arguments(part: Part) -> Part:
    if isinstance(part, ToolCallPart):
        return ToolCallPart(part.id, part.name, plain(msgspec.json.decode(part.arguments)))
    return part


@pytest.mark.req("M1", "M5", "M7", "A20")
@pytest.mark.parametrize("name", STREAMS)
async def test_a_stream_means_what_the_sdk_says(name):
    message = await theirs(STREAMS[name])
    _events, end = ours(STREAMS[name])

    read = message.usage.cache_read_input_tokens or 0
    written = message.usage.cache_creation_input_tokens or 0
    details = message.usage.output_tokens_details
    assert tuple(map(with_plain_arguments, end.parts)) == tuple(map(part_of, message.content))
    assert end.stop_reason == REASONS[message.stop_reason or ""]
    assert end.model == message.model
    assert end.usage.tokens_in == message.usage.input_tokens + read + written
    assert end.usage.tokens_out == message.usage.output_tokens
    assert end.usage.cached_in == read
    assert end.usage.reasoning_out == (details.thinking_tokens if details else 0)


@pytest.mark.req("M5", "M7")
def test_what_was_streamed_is_what_the_end_holds():
    events, end = ours(EVERYTHING)

    texts = "".join(event.text for event in events if isinstance(event, TextDelta))
    thoughts = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    pieces = [event for event in events if isinstance(event, ToolCallDelta)]
    calls = [
        ToolCallPart(
            "".join(piece.id for piece in pieces if piece.index == index),
            "".join(piece.name for piece in pieces if piece.index == index),
            "".join(piece.arguments for piece in pieces if piece.index == index),
        )
        for index in range(2)
    ]
    assert end.parts == (
        ReasoningPart(thoughts, "anthropic", "c2ln+/=="),
        ReasoningPart("", "anthropic", sealed="ENC+/=="),
        TextPart(texts),
        *calls,
    )


@pytest.mark.req("M7")
def test_where_the_bytes_are_cut_into_chunks_does_not_matter():
    whole = ours(EVERYTHING)

    for cut in range(len(EVERYTHING)):
        assert ours(EVERYTHING[:cut], EVERYTHING[cut:]) == whole
    assert ours(*(EVERYTHING[n : n + 1] for n in range(len(EVERYTHING)))) == whole


@pytest.mark.req("P5", "A23")
def test_a_stream_cut_off_anywhere_is_truncated_and_never_a_success():
    for cut in range(len(EVERYTHING)):
        with pytest.raises(StreamTruncated):
            ours(EVERYTHING[:cut])


@pytest.mark.req("P5", "A23")
async def test_an_error_inside_a_stream_is_an_error_for_both():
    told = {"type": "overloaded_error", "message": "Overloaded"}
    stream = begin() + text(0, "a") + event("error", error=told)

    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        await theirs(stream)
    with pytest.raises(ProviderError, match="Overloaded"):
        ours(stream)
