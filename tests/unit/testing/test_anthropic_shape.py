"""The stand-in for Anthropic refuses what the real service refuses, and says it in its words."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from hermes.net.client import HttpClient, HttpSettings
from hermes.testing.anthropic_server import AnthropicServer
from hermes.testing.anthropic_shape import ShapeError, read_request

TOOL = {"name": "t", "input_schema": {"type": "object"}}
USE = {"type": "tool_use", "id": "c1", "name": "t", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}
HEADERS = {"anthropic-version": "2023-06-01", "x-api-key": "k"}


def said(*contents: object) -> list[dict]:
    roles = ("user", "assistant")
    return [
        {"role": roles[index % 2], "content": content} for index, content in enumerate(contents)
    ]


def request(**fields: object) -> bytes:
    base = {"model": "claude-haiku-4-5", "max_tokens": 10, "messages": said("hi")}
    told = {key: value for key, value in {**base, **fields}.items() if value is not None}
    return msgspec.json.encode(told)


def form(schema: object, model: str = "claude-haiku-4-5") -> dict:
    return {"model": model, "output_config": {"format": {"type": "json_schema", "schema": schema}}}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {
            "messages": said("q", [USE], [RESULT, {"type": "text", "text": "go on"}]),
            "tools": [TOOL],
        },
        {"messages": [*said("a"), *said("b")]},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000},
        {"model": "claude-opus-5-5", "thinking": {"type": "adaptive"}},
        form({"type": "object", "additionalProperties": False}),
    ],
)
def test_what_the_service_takes_is_taken(fields):
    assert read_request(request(**fields)).stream is False


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"max_tokens": None}, "missing required field `max_tokens`"),
        ({"max_tokens": 0}, "max_tokens: Input should be greater"),
        ({"model": ""}, "model: "),
        ({"odd": 1}, "unknown field `odd`"),
        ({"messages": []}, "at least one message"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages.0..role: Invalid value"),
        ({"messages": [{"role": "system", "content": "x"}]}, "messages.0..role: Invalid value"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, 'must use the "user" role'),
        ({"messages": said("")}, "non-empty content"),
        ({"messages": said([{"type": "text", "text": ""}])}, "must be non-empty"),
        ({"messages": said([{"type": "text", "text": " "}])}, "non-whitespace"),
        ({"system": [{"type": "text", "text": ""}]}, "system: text content blocks"),
        ({"messages": said("q", "a ")}, "trailing whitespace"),
        ({"messages": said("q", [USE], "never mind")}, "without `tool_result` blocks"),
        ({"messages": said("q", [USE])}, "without `tool_result` blocks"),
        ({"messages": said([RESULT])}, "unexpected `tool_use_id`"),
        (
            {"messages": said("q", [USE], [{"type": "text", "text": "x"}, RESULT])},
            "unexpected `tool_use_id`",
        ),
        ({"messages": said("q", [USE, USE], [RESULT])}, "ids must be unique"),
        ({"messages": said("q", [USE | {"id": "a:b"}], [RESULT])}, "should match pattern"),
        ({"messages": said("q", [{"type": "thinking", "thinking": "x"}])}, "signature"),
        ({"messages": said([{"type": "image", "source": {"type": "url"}}])}, "`url`"),
        ({"tools": [TOOL, TOOL]}, "names must be unique"),
        ({"tools": [TOOL | {"name": "a b"}]}, "should match pattern"),
        ({"tools": [TOOL | {"input_schema": {}}]}, "input_schema.type: Field required"),
        ({"tool_choice": {"type": "any"}}, "only be specified while providing tools"),
        ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "x"}}, "not found"),
        (
            {
                "tools": [TOOL],
                "tool_choice": {"type": "any"},
                "thinking": {"type": "enabled", "budget_tokens": 1024},
                "max_tokens": 2000,
            },
            "may not be enabled when tool_choice forces",
        ),
        (
            {"model": "claude-opus-5-5", "tools": [TOOL], "tool_choice": {"type": "any"}},
            "forced tool use is not supported",
        ),
        ({"temperature": 1.5}, "range: 0..1"),
        ({"temperature": 0.5, "top_p": 0.5}, "cannot both be specified"),
        ({"model": "claude-sonnet-5", "temperature": 0.5}, "deprecated for this model"),
        ({"stop_sequences": [" "]}, "must contain non-whitespace"),
        ({"thinking": {"type": "enabled", "budget_tokens": 100}}, "equal to 1024"),
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "must be greater than"),
        ({"thinking": {"type": "adaptive"}}, "adaptive thinking is not supported"),
        (
            {"model": "claude-opus-4-7", "thinking": {"type": "enabled", "budget_tokens": 1024}},
            "is not supported for this model",
        ),
        (form({"type": "object"}), "'additionalProperties' must be false"),
        (form({"type": "integer", "minimum": 1}), "'minimum' is not supported"),
        (form({"type": "string"}, "claude-3-5-haiku-20241022"), "not supported on this model"),
        (
            {"system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5},
            "maximum of 4 blocks",
        ),
    ],
)
def test_what_the_service_refuses_is_refused(fields, words):
    with pytest.raises(ShapeError, match=words.replace("[", r"\[")):
        read_request(request(**fields))


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


async def sent(
    client: HttpClient,
    server: AnthropicServer,
    body: bytes,
    *,
    headers: dict,
    path: str = "messages",
) -> tuple[int, str]:
    url = f"{server.base_url}/v1/{path}"
    async with client.request(
        "t", "POST", url, headers=headers, body=body, trusted=True
    ) as response:
        return response.status, (await response.read(100_000)).decode()


@pytest.mark.parametrize(
    ("headers", "status", "words"),
    [
        ({"x-api-key": "k"}, 400, "anthropic-version: header is required"),
        ({"anthropic-version": "1999-01-01", "x-api-key": "k"}, 400, "not a valid version"),
        ({"anthropic-version": "2023-06-01"}, 401, "x-api-key header is required"),
        ({**HEADERS, "x-api-key": "other"}, 401, "invalid x-api-key"),
        (
            {"anthropic-version": "2023-06-01", "authorization": "Bearer k"},
            401,
            "OAuth authentication is currently not supported",
        ),
    ],
)
async def test_a_head_without_version_or_credential_is_refused(client, headers, status, words):
    async with AnthropicServer(key="k") as server:
        answer = await sent(client, server, request(), headers=headers)

    assert answer[0] == status
    assert words in answer[1]
    assert server.invocations == []


async def test_errors_and_whole_answers_have_the_services_shape(client):
    async with AnthropicServer() as server:
        refused = await sent(client, server, request(max_tokens=0), headers=HEADERS)
        nowhere = await sent(client, server, request(), headers=HEADERS, path="nowhere")
        answered = await sent(
            client, server, request(messages=said("[[reason:hm]] hi")), headers=HEADERS
        )

    assert msgspec.json.decode(refused[1]) == {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "max_tokens: Input should be greater than or equal to 1",
        },
        "request_id": "req_scripted",
    }
    assert nowhere[0] == 404
    message = msgspec.json.decode(answered[1])
    assert [block["type"] for block in message["content"]] == ["thinking", "text"]
    assert message["stop_reason"] == "end_turn"


async def test_a_stream_has_the_documented_order_of_events(client):
    async with AnthropicServer() as server:
        body = request(messages=said('[[tool:t {"a":1}]] [[reason:hm]]'), stream=True)
        _status, stream = await sent(client, server, body, headers=HEADERS)

    kinds = [line.removeprefix("event: ") for line in stream.splitlines() if "event: " in line]
    assert kinds == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
