"""OpenAI's own SDK, and a request as Codex writes it, as the clients of the Responses wire.

A small app serves the wire over scripted answers; the SDK must read from it what was scripted.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import aiohttp
import openai
import pydantic
import pytest
from openai.types.responses import Response as SdkResponse
from openai.types.responses import ResponseStreamEvent
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from hermes.calls.events import FullAnswer, Piece
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
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.message.reply import Usage
from hermes.ports.channel import HttpResponse
from hermes.ports.provider import CallEnd, ReasoningDelta, StopReason, TextDelta, ToolCallDelta
from hermes.routing.plan import Candidate
from hermes.server.listen import HttpServer, ServeSettings, address_of, bind
from hermes.server.v1.dialect import Stamp, WireCall
from hermes.server.v1.responses import ResponsesDialect

USAGE = Usage(tokens_in=10, tokens_out=5, cached_in=4, reasoning_out=2)
STAMP = Stamp("v-1", 1700000000.0)
PIXEL = "data:image/png;base64,iVBORw0KGgo="
WEATHER: Any = {
    "type": "function",
    "name": "weather",
    "description": "The weather.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
    "strict": False,
}
PATCH: Any = {
    "type": "custom",
    "name": "apply_patch",
    "description": "Changes files.",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: WORD"},
}
SEALED: Any = ["reasoning.encrypted_content"]
# What the SDK builds without looking is checked here to the last field.
EVENT: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(ResponseStreamEvent)


class Place(BaseModel):
    name: str
    people: int


class Gateway:
    """The wire over one scripted answer; it keeps what was asked."""

    def __init__(self) -> None:
        self.dialect = ResponsesDialect()
        self.calls: list[WireCall] = []
        self.pieces: Sequence[Piece] = ()
        self.error: HermesError | None = None
        self.answer(TextPart("Good day"))
        self.app = Starlette(routes=[Route("/v1/responses", self.respond, methods=["POST"])])

    def answer(self, *parts: Part, pieces: Sequence[Piece] = (), stop: StopReason = "end") -> None:
        candidate = Candidate("house", "m-1", "named")
        self.answered = FullAnswer(candidate=candidate, end=CallEnd(parts, stop, USAGE, "m-1"))
        self.pieces = pieces

    async def respond(self, request: Request) -> Response:
        try:
            call = self.dialect.read(await request.body(), request.headers)
        except HermesError as error:
            return _sent(self.dialect.refusal(error))
        self.calls.append(call)
        if call.stream:
            return StreamingResponse(self._frames(call), media_type="text/event-stream")
        if self.error is not None:
            return _sent(self.dialect.refusal(self.error))
        body = self.dialect.whole(call, self.answered, stamp=STAMP)
        return Response(body, media_type="application/json")

    async def _frames(self, call: WireCall) -> AsyncIterator[bytes]:
        writer = self.dialect.stream(call, stamp=STAMP)
        for piece in self.pieces:
            yield writer.feed(piece)
        yield writer.failed(self.error) if self.error else writer.end(self.answered)


def _sent(answer: HttpResponse) -> Response:
    return Response(
        answer.body, answer.status, dict(answer.headers), media_type=answer.content_type
    )


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
async def url(gateway: Gateway) -> AsyncIterator[str]:
    listener = bind("127.0.0.1", 0)
    server = HttpServer(gateway.app, listener, settings=ServeSettings(stop_s=1.0))
    serving = asyncio.create_task(server.serve())
    await server.wait_started()
    yield address_of(listener)
    server.stop()
    await serving


@pytest.fixture
async def client(url: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as made:
        yield made


async def collect(client: openai.AsyncOpenAI, **more: Any) -> list[Any]:
    """Return the events of a stream, each of which has all that the SDK's models require."""
    stream = await client.responses.create(model="auto", input="Hello", stream=True, **more)
    found = [event async for event in stream]
    for event in found:
        EVENT.validate_python(event.to_dict())
    assert [event.sequence_number for event in found] == list(range(len(found)))
    return found


@pytest.mark.req("M1", "A30")
async def test_a_whole_answer(gateway: Gateway, client: openai.AsyncOpenAI) -> None:
    told = await client.responses.create(
        model="auto", input="Hello", instructions="Be kind.", temperature=0.5, tools=[WEATHER]
    )
    assert SdkResponse.model_validate(told.to_dict()) == told
    assert (told.output_text, told.status, told.model) == ("Good day", "completed", "m-1")
    assert (told.id, told.created_at, told.instructions) == ("resp_v-1", 1700000000, "Be kind.")
    assert told.usage is not None
    assert (told.usage.input_tokens, told.usage.output_tokens) == (10, 5)
    assert told.usage.input_tokens_details.cached_tokens == 4
    assert told.usage.output_tokens_details.reasoning_tokens == 2
    assert gateway.calls[0].request.system == ("Be kind.",)


@pytest.mark.req("M7", "A30")
async def test_streamed_text(gateway: Gateway, client: openai.AsyncOpenAI) -> None:
    gateway.answer(TextPart("Good day"), pieces=[TextDelta("Good "), TextDelta("day")])
    events = await collect(client)
    assert [event.type for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert events[-1].response.output_text == "Good day"
    assert [events[place].response.model for place in (0, 1, -1)] == ["auto"] * 3
    assert events[-1].response.usage.total_tokens == 15


@pytest.mark.req("M7")
async def test_the_stream_helper_grows_its_snapshot(
    gateway: Gateway, client: openai.AsyncOpenAI
) -> None:
    gateway.answer(TextPart("Good day"), pieces=[TextDelta("Good "), TextDelta("d")])
    async with client.responses.stream(model="auto", input="Hello") as stream:
        grown = [e.snapshot async for e in stream if e.type == "response.output_text.delta"]
        told = await stream.get_final_response()
    assert grown == ["Good ", "Good d", "Good day"]
    assert told.output_text == "Good day"


@pytest.mark.req("M3", "M5", "M7")
async def test_reasoning_calls_and_results_over_two_turns(
    gateway: Gateway, client: openai.AsyncOpenAI
) -> None:
    parts: tuple[Part, ...] = (
        ReasoningPart("Two places.", "anthropic", signature="sig"),
        TextPart("Let me see."),
        ToolCallPart("a", "weather", '{"place": "Oslo"}'),
        ToolCallPart("b", "weather", '{"place": "Rome"}'),
    )
    pieces: list[Piece] = [
        ReasoningDelta("Two "),
        ReasoningDelta("places."),
        TextDelta("Let me see."),
        ToolCallDelta(0, "a", "weather"),
        ToolCallDelta(0, arguments='{"place": '),
        ToolCallDelta(1, "b", "weather", '{"place": '),
        ToolCallDelta(0, arguments='"Oslo"}'),
        ToolCallDelta(1, arguments='"Rome"}'),
    ]
    gateway.answer(*parts, pieces=pieces, stop="tool_calls")
    async with client.responses.stream(
        model="auto", input="Weather?", tools=[WEATHER], include=SEALED, reasoning={"effort": "low"}
    ) as stream:
        thought = [
            event.delta
            async for event in stream
            if event.type == "response.reasoning_summary_text.delta"
        ]
        told = await stream.get_final_response()
    assert thought == ["Two ", "places."]
    assert [item.type for item in told.output] == [
        "reasoning",
        "message",
        "function_call",
        "function_call",
    ]

    results: Any = [
        {"type": "function_call_output", "call_id": "b", "output": "sun"},
        {"type": "function_call_output", "call_id": "a", "output": "rain"},
    ]
    question: Any = {"role": "user", "content": "Weather?"}
    said: Any = [item.to_dict() for item in told.output]
    gateway.answer(TextPart("Rain and sun."))
    await client.responses.create(model="auto", input=[question, *said, *results], tools=[WEATHER])
    assert gateway.calls[-1].request.messages[1:] == (
        ChatMessage("assistant", parts),
        ChatMessage(
            "tool",
            (ToolResultPart("b", "weather", "sun"), ToolResultPart("a", "weather", "rain")),
        ),
    )


@pytest.mark.req("M3", "M7")
async def test_every_event_of_a_rich_answer_fits_the_sdks_models(
    gateway: Gateway, client: openai.AsyncOpenAI
) -> None:
    calls = (
        ToolCallPart("a", "weather", "{}"),
        ToolCallPart("p", "apply_patch", '{"input":"x"}'),
        ToolCallPart("s", "local_shell", '{"command":["ls"]}'),
        ToolCallPart("f", "tool_search", '{"query":"x"}'),
        ToolCallPart("n", "town__weather", "{}"),
    )
    thoughts = (
        ReasoningPart("One.", "responses", sealed="s==", id="rs_1"),
        ReasoningPart("Two.", "responses", id="rs_1"),
    )
    tools = [
        WEATHER,
        PATCH,
        {"type": "local_shell"},
        {"type": "tool_search", "execution": "client", "description": "Finds tools."},
        {"type": "namespace", "name": "town", "description": "Town.", "tools": [WEATHER]},
    ]
    gateway.answer(*thoughts, TextPart("Yes."), *calls, stop="tool_calls")
    shown_late = await collect(client, tools=tools)
    gateway.answer(
        *thoughts,
        TextPart("Yes."),
        *calls,
        stop="tool_calls",
        pieces=[
            ReasoningDelta("One."),
            TextDelta("Yes."),
            *(ToolCallDelta(n, c.id, c.name, c.arguments) for n, c in enumerate(calls)),
        ],
    )
    shown_at_once = await collect(client, tools=tools, include=SEALED)
    expected = [
        "reasoning",
        "message",
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "tool_search_call",
        "function_call",
    ]
    assert [item.type for item in shown_late[-1].response.output] == expected
    assert [item.type for item in shown_at_once[-1].response.output] == expected


@pytest.mark.req("M5")
async def test_a_pydantic_tool_is_parsed(gateway: Gateway, client: openai.AsyncOpenAI) -> None:
    gateway.answer(ToolCallPart("a", "Place", '{"name": "Oslo", "people": 7}'), stop="tool_calls")
    function: Any = openai.pydantic_function_tool(Place)["function"]
    tool: Any = {"type": "function", **function}
    told = await client.responses.parse(
        model="auto", input="Hello", tools=[tool], tool_choice="required"
    )
    (item,) = told.output
    assert item.type == "function_call"
    assert item.parsed_arguments == {"name": "Oslo", "people": 7}
    assert gateway.calls[0].request.tool_choice.mode == "required"


@pytest.mark.req("M6")
async def test_the_parse_helper_reads_a_schema_answer(
    gateway: Gateway, client: openai.AsyncOpenAI
) -> None:
    gateway.answer(TextPart('{"name": "Oslo", "people": 700000}'))
    told = await client.responses.parse(model="auto", input="Hello", text_format=Place)
    assert told.output_parsed == Place(name="Oslo", people=700000)
    schema = gateway.calls[0].request.schema
    assert schema is not None
    assert (schema.name, schema.strict) == ("Place", True)
    assert sorted(json.loads(bytes(schema.schema))["properties"]) == ["name", "people"]


@pytest.mark.req("M6", "M7")
async def test_the_stream_helper_reads_a_schema_answer(
    gateway: Gateway, client: openai.AsyncOpenAI
) -> None:
    gateway.answer(TextPart('{"name": "Oslo", "people": 7}'), pieces=[TextDelta('{"name": ')])
    async with client.responses.stream(model="auto", input="Hello", text_format=Place) as stream:
        told = await stream.get_final_response()
    assert told.output_parsed == Place(name="Oslo", people=7)


@pytest.mark.req("M6")
async def test_a_refusal_is_not_parsed(gateway: Gateway, client: openai.AsyncOpenAI) -> None:
    gateway.answer(TextPart("I won't."), stop="refusal")
    told = await client.responses.parse(model="auto", input="Hello", text_format=Place)
    assert (told.output_parsed, told.status) == (None, "incomplete")
    assert told.incomplete_details is not None
    assert told.incomplete_details.reason == "content_filter"


@pytest.mark.req("M7")
async def test_pictures(gateway: Gateway, client: openai.AsyncOpenAI) -> None:
    shown: Any = [
        {"type": "input_text", "text": "What is it?"},
        {"type": "input_image", "image_url": PIXEL, "detail": "auto"},
        {"type": "input_image", "image_url": "https://example.com/cat.gif", "detail": "auto"},
    ]
    await client.responses.create(model="auto", input=[{"role": "user", "content": shown}])
    assert gateway.calls[0].request.messages[0].parts == (
        TextPart("What is it?"),
        ImagePart(Media("image/png", url=PIXEL)),
        ImagePart(Media("image/gif", url="https://example.com/cat.gif")),
    )


@pytest.mark.req("M1", "A22")
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (BadRequest("x"), openai.BadRequestError),
        (Unauthenticated("x"), openai.AuthenticationError),
        (Forbidden("x"), openai.PermissionDeniedError),
        (NotFound("x"), openai.NotFoundError),
        (TooLarge("x"), openai.APIStatusError),
        (OverBudget("x", 5.0), openai.RateLimitError),
        (ModelsStopped("x"), openai.InternalServerError),
        (ProviderUnavailable("x"), openai.InternalServerError),
        (ProviderTimeout("x"), openai.InternalServerError),
    ],
)
async def test_errors_are_the_sdks_own(
    gateway: Gateway,
    client: openai.AsyncOpenAI,
    error: HermesError,
    expected: type[openai.APIStatusError],
) -> None:
    gateway.error = error
    with pytest.raises(expected) as caught:
        await client.responses.create(model="auto", input="Hello")
    assert caught.value.status_code >= 400


@pytest.mark.req("M1")
async def test_what_is_refused_names_its_field(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match=r"previous_response_id.*whole conversation"):
        await client.responses.create(model="auto", input="Hello", previous_response_id="resp_1")


@pytest.mark.req("P5")
async def test_a_stream_that_breaks_off_is_no_success(
    gateway: Gateway, client: openai.AsyncOpenAI
) -> None:
    gateway.pieces = [TextDelta("Once upon")]
    gateway.error = StreamTruncated("the stream broke")
    with pytest.raises(RuntimeError, match=r"response\.completed"):
        async with client.responses.stream(model="auto", input="Hello") as stream:
            await stream.get_final_response()
    last = (await collect(client))[-1]
    assert (last.type, last.response.status) == ("response.failed", "failed")
    assert last.response.error.message == "the stream broke"


@pytest.mark.req("M1")
async def test_a_stream_that_was_cut_says_why(gateway: Gateway, client: openai.AsyncOpenAI) -> None:
    gateway.answer(TextPart("Once upon"), pieces=[TextDelta("Once upon")], stop="length")
    last = (await collect(client))[-1]
    assert last.type == "response.incomplete"
    assert last.response.incomplete_details.reason == "max_output_tokens"


@pytest.mark.req("M1", "M5")
async def test_a_turn_of_codex(gateway: Gateway, url: str) -> None:
    patch = ToolCallPart("p2", "apply_patch", '{"input":"*** Begin Patch\\n"}')
    gateway.answer(
        ReasoningPart("", "responses", sealed="new==", id="rs_2"),
        patch,
        pieces=[ToolCallDelta(0, "p2", "apply_patch", patch.arguments)],
        stop="tool_calls",
    )
    body = {
        "model": "gpt-5-codex",
        "instructions": "You are a coding agent.",
        "input": [
            {"type": "message", "role": "developer", "content": [_text("Ask first.")]},
            {"type": "message", "role": "user", "content": [_text("Fix it.")]},
            {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "old=="},
            {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "s1"},
            {"type": "function_call_output", "call_id": "s1", "output": "a.py"},
            {
                "type": "custom_tool_call",
                "status": "completed",
                "call_id": "p1",
                "name": "apply_patch",
                "input": "x",
            },
            {"type": "custom_tool_call_output", "call_id": "p1", "output": "failed"},
        ],
        "tools": [
            {**WEATHER, "name": "shell"},
            PATCH,
            {"type": "web_search", "external_web_access": False},
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "store": False,
        "stream": True,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "session",
        "text": {"verbosity": "medium"},
        "client_metadata": {"x": "y"},
    }
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            f"{url}/v1/responses", json=body, headers={"originator": "codex_cli_rs"}
        ) as sent,
    ):
        frames = (await sent.text()).removesuffix("\n\n").split("\n\n")
    data = [json.loads(frame.split("\ndata: ")[1]) for frame in frames]

    # Codex keeps items as they are done, and believes in an end only when it is told.
    done = [event["item"] for event in data if event["type"] == "response.output_item.done"]
    assert [item["type"] for item in done] == ["reasoning", "custom_tool_call"]
    assert (done[1]["name"], done[1]["input"]) == ("apply_patch", "*** Begin Patch\n")
    assert data[-1]["type"] == "response.completed"
    call = gateway.calls[0]
    assert call.request.system == ("You are a coding agent.", "Ask first.")
    assert [tool.name for tool in call.request.tools] == ["shell", "apply_patch"]
    assert call.request.messages[1].parts[0] == ReasoningPart("", "responses", sealed="old==")
    assert call.request.parallel_tools is False
    assert sorted(call.ignored) == ["client_metadata", "tools.web_search"]
    assert call.hints == (
        ("reasoning_summary", "reasoning.summary"),
        ("reasoning", "reasoning.effort"),
    )


def _text(text: str) -> dict[str, str]:
    return {"type": "input_text", "text": text}


# Fields of services that Hermes does not offer: all of them are optional.
NOT_OFFERED = {
    "access_programs",
    "image",
    "prompt_cache_diagnostics",
    "prompt_cache_options",
    "tool_usage",
}


@pytest.mark.req("M1")
async def test_a_response_has_every_field_that_the_sdk_knows(client):
    asked = {"temperature": 0.5, "safety_identifier": "s-1"}

    told = await client.responses.create(model="auto", input="Hello", **asked)
    plain = await client.responses.create(model="auto", input="Hello")

    known = set(SdkResponse.model_fields) | {"presence_penalty", "frequency_penalty"}
    assert known - set(told.to_dict()) == NOT_OFFERED
    assert (told.temperature, told.top_p, told.safety_identifier) == (0.5, 1.0, "s-1")
    assert (plain.temperature, plain.completed_at) == (1.0, STAMP.at)
