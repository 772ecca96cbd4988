"""The Anthropic provider over the strict stand-in: credentials, failures, schemas and thoughts."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from hermes.errors import ProviderRejected, ProviderUnavailable
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import (
    ImagePart,
    Media,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.message.reply import Usage
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.provider import CallEnd, ModelEvent, ModelRequest, OutputSchema, TextDelta
from hermes.providers.anthropic.provider import AnthropicProvider
from hermes.providers.anthropic.settings import AnthropicSettings
from hermes.testing.anthropic_frames import SIGNATURE
from hermes.testing.anthropic_server import AnthropicServer
from hermes.testing.model_script import ScriptedTurn, ToolUse, in_order

OLD = "claude-3-5-haiku-20241022"
HAIKU = "claude-haiku-4-5-20251001"
CITY = msgspec.Raw(b'{"type":"object","properties":{"city":{"type":"string"}}}')


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


def settings_for(server: AnthropicServer, **more: Any) -> AnthropicSettings:
    fields: dict[str, Any] = {
        "name": "m",
        "model": HAIKU,
        "base_url": server.base_url,
        "api_key": "sk-ant-api-1",
    }
    return AnthropicSettings(**{**fields, **more})


def asking(text: str, **more: Any) -> ModelRequest:
    fields: dict[str, Any] = {"model": HAIKU, "messages": (user_text(text),), **more}
    return ModelRequest(**fields)


async def called(provider: AnthropicProvider, request: ModelRequest) -> list[ModelEvent]:
    return [event async for event in provider.stream(request)]


def end_of(events: list[ModelEvent]) -> CallEnd:
    assert isinstance(events[-1], CallEnd)
    return events[-1]


@pytest.mark.req("M1", "P4", "W35")
async def test_a_token_is_taken_as_a_token_and_a_wrong_one_is_not_repeated(client):
    async with AnthropicServer(key="sk-ant-oat-right") as server:
        rightly = settings_for(server, api_key=None, oauth_token="sk-ant-oat-right")
        wrongly = settings_for(server, api_key=None, oauth_token="a-wrong-token")
        answered = await called(AnthropicProvider(rightly, client), asking("hi"))
        with pytest.raises(ProviderRejected, match="401") as caught:
            await called(AnthropicProvider(wrongly, client), asking("hi"))

    assert end_of(answered).parts == (TextPart("#1 hi"),)
    assert server.invocations[0].headers["anthropic-beta"] == "oauth-2025-04-20"
    assert "a-wrong-token" not in str(caught.value)


@pytest.mark.req("P6")
async def test_it_says_that_it_has_tools_eyes_and_schemas(client):
    async with AnthropicServer() as server:
        info = AnthropicProvider(settings_for(server), client).info

    assert (info.tools, info.vision, info.schema, info.embeddings) == (True, True, True, False)
    assert (info.name, info.model, info.context_tokens, info.local) == ("m", HAIKU, 200_000, True)


@pytest.mark.req("A23")
@pytest.mark.parametrize(
    ("status", "retry_after", "expected"),
    [
        (429, 7.0, ProviderUnavailable),
        (529, None, ProviderUnavailable),
        (500, None, ProviderUnavailable),
        (402, None, ProviderUnavailable),
        (400, None, ProviderRejected),
        (403, None, ProviderRejected),
        (413, None, ProviderRejected),
    ],
)
async def test_a_status_says_what_the_caller_can_do(client, status, retry_after, expected):
    turn = ScriptedTurn(fault="status", status=status, retry_after=retry_after)
    async with AnthropicServer(in_order([turn])) as server:
        with pytest.raises(expected, match=f"{status}.*scripted failure") as caught:
            await called(AnthropicProvider(settings_for(server), client), asking("hi"))

    assert type(caught.value) is expected
    assert getattr(caught.value, "retry_after", None) == retry_after


@pytest.mark.req("A20")
async def test_the_services_counts_are_kept(client):
    turn = ScriptedTurn(text="x", tokens_in=100, cached_in=60, tokens_out=30, reasoning_out=20)
    async with AnthropicServer(in_order([turn])) as server:
        events = await called(AnthropicProvider(settings_for(server), client), asking("hi"))

    assert end_of(events).usage == Usage(100, 30, 60, 20, 0.0)


@pytest.mark.req("M6")
async def test_a_schema_of_a_newer_model_is_its_output_format(client):
    async with AnthropicServer() as server:
        provider = AnthropicProvider(settings_for(server), client)
        await called(provider, asking("hi", schema=OutputSchema(name="place", schema=CITY)))
        sent = server.invocations[0].request

    assert sent.tools == []
    assert sent.output_config == {
        "format": {
            "type": "json_schema",
            "schema": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "additionalProperties": False,
            },
        }
    }


@pytest.mark.req("M6")
async def test_a_schema_of_an_older_model_is_answered_by_a_tool_and_read_as_text(client):
    turn = ScriptedTurn(tools=(ToolUse("place", '{"city":"Oslo"}'),))
    async with AnthropicServer(in_order([turn])) as server:
        provider = AnthropicProvider(settings_for(server), client)
        request = asking("hi", model=OLD, schema=OutputSchema(name="place", schema=CITY))
        events = await called(provider, request)
        sent = server.invocations[0].request

    assert sent.tool_choice == {
        "type": "tool",
        "name": "place",
        "disable_parallel_tool_use": True,
    }
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert text == '{"city":"Oslo"}'
    assert (end_of(events).parts, end_of(events).stop_reason) == ((TextPart(text),), "end")


@pytest.mark.req("M5", "M7")
async def test_thoughts_come_back_to_the_service_as_it_sent_them(client):
    script = in_order([ScriptedTurn(reasoning="Höhe?", tools=(ToolUse("clock", '{"a":1}'),))])
    async with AnthropicServer(script) as server:
        provider = AnthropicProvider(settings_for(server), client)
        first = end_of(await called(provider, asking("when?", reasoning=1024)))
        thought, call = first.parts
        assert isinstance(call, ToolCallPart)
        history = (
            user_text("when?"),
            ChatMessage("assistant", first.parts),
            ChatMessage("tool", (ToolResultPart(call.id, call.name, "noon"),)),
        )
        await called(provider, ModelRequest(model=HAIKU, messages=history, reasoning=1024))
        again = msgspec.json.decode(server.invocations[1].body)

    assert thought == ReasoningPart("Höhe?", "anthropic", SIGNATURE)
    assert again["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Höhe?", "signature": SIGNATURE},
        {"type": "tool_use", "id": call.id, "name": "clock", "input": {"a": 1}},
    ]
    assert again["thinking"] == {"type": "enabled", "budget_tokens": 1024}


@pytest.mark.req("M7")
async def test_an_image_file_is_sent_as_its_bytes_and_only_to_eyes(client, tmp_path):
    picture = tmp_path / "a.jpg"
    picture.write_bytes(b"\x89PNG")
    image = ImagePart(Media("image/jpeg", path=str(picture)))
    request = ModelRequest(model=HAIKU, messages=(ChatMessage("user", (image, TextPart("?"))),))
    async with AnthropicServer() as server:
        await called(AnthropicProvider(settings_for(server), client), request)
        await called(AnthropicProvider(settings_for(server, vision=False), client), request)
        shown, told = (msgspec.json.decode(made.body) for made in server.invocations)

    assert shown["messages"][0]["content"][0]["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": "iVBORw==",
    }
    assert told["messages"][0]["content"][0]["type"] == "text"
