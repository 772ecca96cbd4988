"""OpenAI's own SDK as the client of the chat wire.

A small app serves the wire over scripted answers; the SDK must read from it what was scripted.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import openai
import pytest
from openai.types.chat import ChatCompletionChunk
from pydantic import BaseModel

from hermes.calls.events import Piece
from hermes.errors import (
    BadRequest,
    Forbidden,
    HermesError,
    ModelsStopped,
    NotFound,
    OverBudget,
    ProviderTimeout,
    ProviderUnavailable,
    StreamTruncated,
    TooLarge,
    Unauthenticated,
)
from hermes.message.chat import ChatMessage
from hermes.message.parts import (
    ImagePart,
    Media,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.ports.provider import ReasoningDelta, StopReason, TextDelta, ToolCallDelta
from tests.system.scripted_wire import ScriptedWire, running

PIXEL = "data:image/png;base64,iVBORw0KGgo="
HELLO: Any = [{"role": "user", "content": "Hello"}]
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather.",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
    },
}


class Place(BaseModel):
    name: str
    people: int


@pytest.fixture
def gateway() -> ScriptedWire:
    return ScriptedWire()


@pytest.fixture
async def url(gateway: ScriptedWire) -> AsyncIterator[str]:
    async with running(gateway) as address:
        yield address


@pytest.fixture
async def client(url: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as made:
        yield made


async def collect(client: openai.AsyncOpenAI, **more: Any) -> list[ChatCompletionChunk]:
    stream = await client.chat.completions.create(model="auto", messages=HELLO, stream=True, **more)
    return [chunk async for chunk in stream]


@pytest.mark.req("M1", "A30")
async def test_a_whole_answer(gateway: ScriptedWire, client: openai.AsyncOpenAI) -> None:
    told = await client.chat.completions.create(model="auto", messages=HELLO, temperature=0.5)
    choice = told.choices[0]
    assert (choice.message.role, choice.message.content) == ("assistant", "Good day")
    assert (choice.finish_reason, choice.message.tool_calls) == ("stop", None)
    assert (told.id, told.model, told.created) == ("chatcmpl-c-1", "m-1", 1700000000)
    assert told.usage is not None
    assert (told.usage.prompt_tokens, told.usage.completion_tokens) == (10, 5)
    assert told.usage.prompt_tokens_details is not None
    assert told.usage.prompt_tokens_details.cached_tokens == 4
    assert [(call.model, call.request.temperature) for call in gateway.calls] == [("auto", 0.5)]


@pytest.mark.req("M7")
async def test_streamed_text(gateway: ScriptedWire, client: openai.AsyncOpenAI) -> None:
    gateway.answer(TextPart("Good day"), pieces=[TextDelta("Good "), TextDelta("day")])
    chunks = await collect(client)
    assert [chunk.choices[0].delta.content for chunk in chunks] == ["", "Good ", "day", None]
    assert [chunk.choices[0].delta.role for chunk in chunks] == ["assistant", None, None, None]
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None, None, None, "stop"]
    assert [chunk.usage for chunk in chunks] == [None] * 4
    assert {(chunk.id, chunk.model) for chunk in chunks} == {("chatcmpl-c-1", "auto")}


@pytest.mark.req("M7", "A30")
async def test_usage_in_a_stream_only_when_asked_for(
    gateway: ScriptedWire, client: openai.AsyncOpenAI
) -> None:
    gateway.answer(TextPart("Hi"), pieces=[TextDelta("Hi")])
    *chunks, last = await collect(client, stream_options={"include_usage": True})
    assert [len(chunk.choices) for chunk in chunks] == [1, 1, 1]
    assert last.choices == []
    assert last.usage is not None
    assert (last.usage.total_tokens, last.model) == (15, "auto")


@pytest.mark.req("M5", "M7")
async def test_streamed_calls_and_their_results(
    gateway: ScriptedWire, client: openai.AsyncOpenAI
) -> None:
    calls = (
        ToolCallPart("a", "weather", '{"place": "Oslo"}'),
        ToolCallPart("b", "weather", '{"place": "Rome"}'),
    )
    pieces: list[Piece] = [
        TextDelta("Let me see."),
        ToolCallDelta(0, "a", "weather"),
        ToolCallDelta(0, arguments='{"place": '),
        ToolCallDelta(0, arguments='"Oslo"}'),
        ToolCallDelta(1, "b", "weather", '{"place": '),
        ToolCallDelta(1, arguments='"Rome"}'),
    ]
    gateway.answer(TextPart("Let me see."), *calls, pieces=pieces, stop="tool_calls")
    async with client.chat.completions.stream(
        model="auto", messages=HELLO, tools=[WEATHER]
    ) as stream:
        grown = [
            (event.index, event.arguments)
            async for event in stream
            if event.type == "tool_calls.function.arguments.done"
        ]
        message = (await stream.get_final_completion()).choices[0].message
    assert sorted(grown) == [(0, '{"place": "Oslo"}'), (1, '{"place": "Rome"}')]
    assert message.content == "Let me see."

    results: Any = [
        {"role": "tool", "tool_call_id": "b", "content": "sun"},
        {"role": "tool", "tool_call_id": "a", "content": "rain"},
    ]
    gateway.answer(TextPart("Rain and sun."))
    said: Any = message.to_dict()
    await client.chat.completions.create(
        model="auto", messages=[*HELLO, said, *results], tools=[WEATHER]
    )
    assert gateway.calls[-1].request.messages[1:] == (
        ChatMessage("assistant", (TextPart("Let me see."), *calls)),
        ChatMessage("tool", (ToolResultPart("b", "weather", "sun"),)),
        ChatMessage("tool", (ToolResultPart("a", "weather", "rain"),)),
    )


@pytest.mark.req("M5")
async def test_whole_calls(gateway: ScriptedWire, client: openai.AsyncOpenAI) -> None:
    gateway.answer(ToolCallPart("a", "weather", '{"place": "Oslo"}'), stop="tool_calls")
    told = await client.chat.completions.create(
        model="auto", messages=HELLO, tools=[WEATHER], tool_choice="required"
    )
    message = told.choices[0].message
    assert (message.content, told.choices[0].finish_reason) == (None, "tool_calls")
    assert message.tool_calls is not None
    (call,) = message.tool_calls
    assert call.type == "function"
    assert (call.id, call.function.arguments) == ("a", '{"place": "Oslo"}')
    assert gateway.calls[0].request.tool_choice.mode == "required"


@pytest.mark.req("M6")
async def test_the_parse_helper_reads_a_schema_answer(
    gateway: ScriptedWire, client: openai.AsyncOpenAI
) -> None:
    gateway.answer(TextPart('{"name": "Oslo", "people": 700000}'))
    told = await client.chat.completions.parse(model="auto", messages=HELLO, response_format=Place)
    assert told.choices[0].message.parsed == Place(name="Oslo", people=700000)
    schema = gateway.calls[0].request.schema
    assert schema is not None
    assert (schema.name, schema.strict) == ("Place", True)
    assert sorted(json.loads(bytes(schema.schema))["properties"]) == ["name", "people"]


@pytest.mark.req("M6", "M7")
async def test_the_parse_helper_reads_a_streamed_schema_answer(
    gateway: ScriptedWire, client: openai.AsyncOpenAI
) -> None:
    gateway.answer(TextPart('{"name": "Oslo", "people": 7}'), pieces=[TextDelta('{"name": ')])
    async with client.chat.completions.stream(
        model="auto", messages=HELLO, response_format=Place
    ) as stream:
        told = await stream.get_final_completion()
    assert told.choices[0].message.parsed == Place(name="Oslo", people=7)


@pytest.mark.req("M6")
@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        ("length", openai.LengthFinishReasonError),
        ("refusal", openai.ContentFilterFinishReasonError),
    ],
)
async def test_an_answer_that_is_not_whole_is_never_parsed(
    gateway: ScriptedWire, client: openai.AsyncOpenAI, stop: StopReason, expected: type[Exception]
) -> None:
    gateway.answer(TextPart('{"name": "Os'), stop=stop)
    with pytest.raises(expected):
        await client.chat.completions.parse(model="auto", messages=HELLO, response_format=Place)


@pytest.mark.req("M7")
async def test_pictures(gateway: ScriptedWire, client: openai.AsyncOpenAI) -> None:
    shown: Any = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": PIXEL}},
        {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}},
    ]
    await client.chat.completions.create(
        model="auto", messages=[{"role": "user", "content": shown}]
    )
    assert gateway.calls[0].request.messages[0].parts == (
        TextPart("What is it?"),
        ImagePart(Media("image/png", url=PIXEL)),
        ImagePart(Media("image/png", url="https://example.com/cat.png")),
    )


@pytest.mark.req("M3", "M7")
async def test_reasoning_is_read_and_comes_back_signed(
    gateway: ScriptedWire, client: openai.AsyncOpenAI
) -> None:
    thought = ReasoningPart("Let me think.", "anthropic", signature="sig")
    call = ToolCallPart("a", "weather", "{}")
    pieces: list[Piece] = [ReasoningDelta("Let me "), ReasoningDelta("think.")]
    gateway.answer(thought, call, pieces=pieces, stop="tool_calls")
    async with client.chat.completions.stream(
        model="auto", messages=HELLO, tools=[WEATHER], reasoning_effort="low"
    ) as stream:
        message = (await stream.get_final_completion()).choices[0].message
    said: Any = message.to_dict()
    assert said["reasoning_content"] == "Let me think."

    result: Any = {"role": "tool", "tool_call_id": "a", "content": "rain"}
    await client.chat.completions.create(
        model="auto", messages=[*HELLO, said, result], tools=[WEATHER]
    )
    assert gateway.calls[0].request.reasoning == "low"
    assert gateway.calls[1].request.messages[1].parts == (
        thought,
        ReasoningPart("Let me think.", "openai"),
        call,
    )


@pytest.mark.req("A23", "A20")
@pytest.mark.parametrize(
    ("error", "expected", "code"),
    [
        (BadRequest("why"), openai.BadRequestError, "invalid_request"),
        (Unauthenticated("why"), openai.AuthenticationError, "invalid_api_key"),
        (Forbidden("why"), openai.PermissionDeniedError, "permission_denied"),
        (NotFound("why"), openai.NotFoundError, "model_not_found"),
        (TooLarge("why"), openai.APIStatusError, "request_too_large"),
        (OverBudget("why", 3600.0), openai.RateLimitError, "insufficient_quota"),
        (ModelsStopped("why"), openai.InternalServerError, "kill_switch"),
        (ProviderUnavailable("why"), openai.InternalServerError, "provider_unavailable"),
        (ProviderTimeout("why"), openai.InternalServerError, "provider_timeout"),
    ],
)
async def test_an_error_is_the_right_exception(
    gateway: ScriptedWire,
    client: openai.AsyncOpenAI,
    error: HermesError,
    expected: type[openai.APIStatusError],
    code: str,
) -> None:
    gateway.error = error
    with pytest.raises(expected) as caught:
        await client.chat.completions.create(model="auto", messages=HELLO)
    assert type(caught.value) is expected
    assert caught.value.code == code
    assert "why" in str(caught.value)


@pytest.mark.req("A20")
async def test_a_spent_budget_is_not_tried_again(gateway: ScriptedWire, url: str) -> None:
    gateway.error = OverBudget("spent for today", 3600.0)
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=3) as client:
        with pytest.raises(openai.RateLimitError):
            await client.chat.completions.create(model="auto", messages=HELLO)
    assert len(gateway.calls) == 1


@pytest.mark.req("M1")
async def test_a_wish_that_cannot_be_met_is_a_bad_request(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="moderation cannot be honoured"):
        await client.chat.completions.create(
            model="auto", messages=HELLO, extra_body={"moderation": {"model": "m"}}
        )


@pytest.mark.req("P5", "A23")
async def test_a_stream_that_breaks_off_raises_after_what_was_said(
    gateway: ScriptedWire, client: openai.AsyncOpenAI, url: str
) -> None:
    gateway.answer(TextPart("Good day"), pieces=[TextDelta("Good ")])
    gateway.error = StreamTruncated("house: the stream ended early")
    stream = await client.chat.completions.create(model="auto", messages=HELLO, stream=True)
    seen: list[str | None] = []

    async def follow() -> None:
        async for chunk in stream:
            said = chunk.choices[0].delta.content
            seen.append(said)

    with pytest.raises(openai.APIError, match="the stream ended early"):
        await follow()
    assert seen == ["", "Good "]
    body = {"model": "auto", "messages": HELLO, "stream": True}
    async with aiohttp.ClientSession() as http:
        raw = await (await http.post(f"{url}/v1/chat/completions", json=body)).text()
    assert "[DONE]" not in raw
    assert '"finish_reason":"' not in raw
