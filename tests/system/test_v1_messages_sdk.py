"""Anthropic's own SDK as the client of the Messages wire.

A small app serves the wire over scripted answers; the SDK must read from it what was scripted.
"""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import anthropic
import pytest
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hermes import errors
from hermes.message.chat import ChatMessage
from hermes.message.parts import (
    ImagePart,
    Media,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.ports.provider import ReasoningDelta, TextDelta, ToolCallDelta
from hermes.server.v1.messages import MessagesDialect
from tests.system.scripted_wire import ScriptedWire, running

# Any: the SDK's parameters are typed dicts of many shapes.
HELLO: Any = [{"role": "user", "content": "Hello"}]
WEATHER: Any = {
    "name": "weather",
    "description": "The weather.",
    "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}},
}
PARTS = (
    ReasoningPart("Two places.", "anthropic", "c2lnbmVk"),
    ReasoningPart("", "anthropic", sealed="c2VhbGVk"),
    TextPart("I look."),
    ToolCallPart("t1", "weather", '{"place":"Rome"}'),
    ToolCallPart("t2", "weather", '{"place":"Oslo"}'),
)
PIECES = (
    ReasoningDelta("Two "),
    ReasoningDelta("places."),
    ReasoningDelta("", signature="c2lnbmVk"),
    ReasoningDelta("", sealed="c2VhbGVk"),
    TextDelta("I "),
    TextDelta("look."),
    ToolCallDelta(0, "t1", "weather"),
    ToolCallDelta(0, arguments='{"place":'),
    ToolCallDelta(0, arguments='"Rome"}'),
    ToolCallDelta(1, "t2", "weather", '{"place":"Oslo"}'),
)
CONTENT = [
    {"type": "thinking", "thinking": "Two places.", "signature": "c2lnbmVk"},
    {"type": "redacted_thinking", "data": "c2VhbGVk"},
    {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "t1", "name": "weather", "input": {"place": "Rome"}},
    {"type": "tool_use", "id": "t2", "name": "weather", "input": {"place": "Oslo"}},
]


class Place(BaseModel):
    name: str
    people: int


class MessagesWire(ScriptedWire):
    """The Messages wire over one scripted answer."""

    def __init__(self) -> None:
        super().__init__()
        self.messages = self.dialect = MessagesDialect()
        self.app = Starlette(
            routes=[
                Route("/v1/messages", self.chat, methods=["POST"]),
                Route("/v1/messages/count_tokens", self.count, methods=["POST"]),
            ]
        )

    async def count(self, request: Request) -> Response:
        return Response(self.messages.count(await request.body()), media_type="application/json")


@pytest.fixture
def gateway() -> MessagesWire:
    return MessagesWire()


@pytest.fixture
async def address(gateway: MessagesWire) -> AsyncIterator[str]:
    async with running(gateway) as found:
        yield found


@pytest.fixture
async def client(address: str) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(base_url=address, api_key="hk-test", max_retries=0) as made:
        yield made


def content_of(message: Any) -> list[dict[str, Any]]:
    return [block.to_dict() for block in message.content]


@pytest.mark.req("M1", "A20")
async def test_a_whole_answer(gateway, client):
    message = await client.messages.create(model="auto", max_tokens=9, messages=HELLO)

    assert (message.id, message.model, message.role) == ("msg_c-1", "m-1", "assistant")
    assert content_of(message) == [{"type": "text", "text": "Good day"}]
    assert (message.stop_reason, message.stop_sequence) == ("end_turn", None)
    assert message.usage.to_dict() == {
        "input_tokens": 6,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 4,
        "output_tokens": 5,
        "output_tokens_details": {"thinking_tokens": 2},
    }


@pytest.mark.req("M5")
async def test_a_whole_answer_with_thoughts_and_calls(gateway, client):
    gateway.answer(*PARTS, stop="tool_calls")

    message = await client.messages.create(
        model="auto", max_tokens=9, messages=HELLO, tools=[WEATHER]
    )

    assert (content_of(message), message.stop_reason) == (CONTENT, "tool_use")


@pytest.mark.req("M5", "M7")
@pytest.mark.parametrize("pieces", [PIECES, PIECES[:5], ()])
async def test_a_streamed_answer_is_the_whole_one(gateway, client, pieces):
    gateway.answer(*PARTS, pieces=pieces, stop="tool_calls")

    async with client.messages.stream(
        model="auto", max_tokens=9, messages=HELLO, tools=[WEATHER]
    ) as stream:
        message = await stream.get_final_message()

    assert (message.id, message.model, message.stop_reason) == ("msg_c-1", "auto", "tool_use")
    assert content_of(message) == CONTENT
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (6, 4)
    assert message.usage.output_tokens == 5


@pytest.mark.req("M7")
async def test_the_helpers_of_a_stream_see_every_piece(gateway, client):
    gateway.answer(*PARTS, pieces=PIECES, stop="tool_calls")
    helpers = {"text", "thinking", "input_json", "signature"}

    async with client.messages.stream(
        model="auto", max_tokens=9, messages=HELLO, tools=[WEATHER]
    ) as stream:
        events = [event async for event in stream if event.type in helpers]

    assert [(event.type, getattr(event, "snapshot", None)) for event in events] == [
        ("thinking", "Two "),
        ("thinking", "Two places."),
        ("signature", None),
        ("text", "I "),
        ("text", "I look."),
        ("input_json", {}),
        ("input_json", {"place": "Rome"}),
        ("input_json", {"place": "Oslo"}),
    ]


@pytest.mark.req("M7", "A20")
async def test_a_stream_begins_with_an_estimate_and_ends_with_the_count(gateway, client):
    gateway.answer(TextPart("Hi"), pieces=[TextDelta("Hi")])

    stream = await client.messages.create(
        model="auto", max_tokens=9, messages=[{"role": "user", "content": "x" * 400}], stream=True
    )
    events = [event async for event in stream]

    assert [event.type for event in events] == [
        *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop"),
    ]
    assert (events[0].message.usage.input_tokens, events[4].usage.input_tokens) == (100, 6)


@pytest.mark.req("M6")
async def test_the_parse_helper_gets_what_fits_its_schema(gateway, client):
    gateway.answer(TextPart('{"name":"Rome","people":3}'))

    message = await client.messages.parse(
        model="auto", max_tokens=9, messages=HELLO, output_format=Place
    )

    assert message.parsed_output == Place(name="Rome", people=3)
    schema = gateway.calls[0].request.schema
    assert schema is not None
    assert b'"people"' in bytes(schema.schema)


@pytest.mark.req("M3", "M5", "M7")
async def test_the_sdk_sends_an_answer_back_as_it_was(gateway, client):
    gateway.answer(*PARTS, pieces=PIECES, stop="tool_calls")
    async with client.messages.stream(
        model="auto", max_tokens=9, messages=HELLO, tools=[WEATHER]
    ) as stream:
        message = await stream.get_final_message()
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
    }
    results: Any = [
        {"type": "tool_result", "tool_use_id": "t1", "content": [picture]},
        {"type": "tool_result", "tool_use_id": "t2", "content": "cold", "is_error": True},
    ]

    await client.messages.create(
        model="auto",
        max_tokens=9,
        tools=[WEATHER],
        messages=[*HELLO, message.to_param(), {"role": "user", "content": results}],
    )

    assert gateway.calls[1].request.messages == (
        ChatMessage("user", (TextPart("Hello"),)),
        ChatMessage("assistant", PARTS),
        ChatMessage(
            "tool",
            (
                ToolResultPart("t1", "weather", "[image 1, shown below]"),
                ToolResultPart("t2", "weather", "cold", failed=True),
            ),
        ),
        ChatMessage(
            "user",
            (
                TextPart("[image 1, from the result of weather]"),
                ImagePart(Media("image/png", url="data:image/png;base64,iVBORw0KGgo=")),
            ),
        ),
    )


@pytest.mark.req("M1", "M4")
async def test_what_claude_code_sends_is_understood(gateway, client):
    mark: Any = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}

    await client.beta.messages.create(
        model="claude-sonnet-4-6",
        max_tokens=16_000,
        betas=["interleaved-thinking-2025-05-14", "context-management-2025-06-27"],
        system=[
            {"type": "text", "text": "You code."},
            {"type": "text", "text": "Be brief."} | mark,
        ],
        messages=[{"role": "user", "content": [{"type": "text", "text": "go"} | mark]}],
        tools=[WEATHER | mark],
        thinking={"type": "adaptive"},
        output_config={"effort": "medium"},
        metadata={"user_id": "u"},
        context_management={"edits": []},
        extra_body={"temperature": 1},
    )

    call = gateway.calls[0]
    assert call.request.system == ("You code.", "Be brief.")
    assert (call.request.reasoning, call.request.cache_prefix) == ("medium", True)
    assert (call.request.temperature, call.request.max_output_tokens) == (1.0, 16_000)
    assert set(call.ignored) == {"anthropic-beta", "context_management", "metadata"}


@pytest.mark.req("A20")
async def test_tokens_are_counted(gateway, client):
    counted = await client.messages.count_tokens(
        model="auto", system="x" * 40, messages=[{"role": "user", "content": "y" * 40}]
    )

    assert counted.input_tokens == 20


@pytest.mark.req("A22", "A23")
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.BadRequest("t"), anthropic.BadRequestError),
        (errors.Unauthenticated("t"), anthropic.AuthenticationError),
        (errors.Forbidden("t"), anthropic.PermissionDeniedError),
        (errors.NotFound("t"), anthropic.NotFoundError),
        (errors.TooLarge("t"), anthropic.APIStatusError),
        (errors.OverBudget("t", 60), anthropic.RateLimitError),
        (errors.Overloaded("t", 1), anthropic.InternalServerError),
        (errors.ModelsStopped("t", 1), anthropic.InternalServerError),
        (errors.ProviderTimeout("t"), anthropic.InternalServerError),
        (errors.ProviderUnavailable("t"), anthropic.InternalServerError),
    ],
)
async def test_errors_are_the_sdks_own(gateway, client, error, kind):
    gateway.error = error

    with pytest.raises(kind) as raised:
        await client.messages.create(model="auto", max_tokens=9, messages=HELLO)

    assert raised.value.body["error"]["message"] == "t"


@pytest.mark.req("A22")
async def test_the_sdk_does_not_try_again_where_that_cannot_help(gateway, address):
    gateway.error = errors.OverBudget("t", 9000)

    async with anthropic.AsyncAnthropic(
        base_url=address, api_key="hk-test", max_retries=1
    ) as client:
        with pytest.raises(anthropic.RateLimitError):
            await client.messages.create(model="auto", max_tokens=9, messages=HELLO)

    assert len(gateway.calls) == 1


@pytest.mark.req("M2")
async def test_a_request_that_cannot_be_read_is_a_bad_request(gateway, client):
    with pytest.raises(anthropic.BadRequestError, match="container: cannot be honoured"):
        await client.messages.create(
            model="auto", max_tokens=9, messages=HELLO, extra_body={"container": "c"}
        )


@pytest.mark.req("A23")
@pytest.mark.parametrize("pieces", [(), PIECES[:5], PIECES[:8]])
async def test_a_stream_that_breaks_off_raises(gateway, client, pieces):
    gateway.answer(*PARTS, pieces=pieces)
    gateway.error = errors.StreamTruncated("m: the stream broke off")

    async with client.messages.stream(model="auto", max_tokens=9, messages=HELLO) as stream:
        with pytest.raises(anthropic.APIStatusError, match="the stream broke off"):
            await stream.get_final_message()


@pytest.mark.req("M7")
async def test_the_frames_on_the_wire(gateway, address):
    gateway.answer(TextPart("Hi"), pieces=[TextDelta("Hi")])
    body = {"model": "auto", "max_tokens": 9, "messages": HELLO, "stream": True}

    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{address}/v1/messages", json=body) as answer,
    ):
        frames = (await answer.text()).split("\n\n")

    assert answer.content_type == "text/event-stream"
    assert frames[1:] == [
        'event: ping\ndata: {"type":"ping"}',
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
        '"content_block":{"type":"text","text":""}}',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
        '"delta":{"type":"text_delta","text":"Hi"}}',
        'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}',
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn",'
        '"stop_sequence":null},"usage":{"input_tokens":6,"cache_creation_input_tokens":0,'
        '"cache_read_input_tokens":4,"output_tokens":5,"output_tokens_details":'
        '{"thinking_tokens":2}}}',
        'event: message_stop\ndata: {"type":"message_stop"}',
        "",
    ]
