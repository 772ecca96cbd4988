"""A model request on the Anthropic wire: addresses, credentials, generations, schemas, prefixes.

That whole bodies are what the official SDK sends is proven in tests/oracle.
"""

import msgspec
import pytest

from hermes.errors import ConfigurationError
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import ImagePart, Media, TextPart, ToolCallPart, ToolResultPart
from hermes.ports.provider import ModelRequest, ToolChoice, ToolSpec
from hermes.provider_kit.capabilities import service_options
from hermes.providers.anthropic.schema import DoesNotFit, fit
from hermes.providers.anthropic.settings import (
    OFFICIAL_URL,
    AnthropicSettings,
    build_headers,
)
from hermes.providers.anthropic.traits import Traits, traits_of
from hermes.providers.anthropic.wire import build_body
from hermes.routing.prices import most_output
from hermes.testing.anthropic_shape import read_request

SETTINGS = AnthropicSettings(name="m", model="claude-haiku-4-5", api_key="sk-ant-api-1")


def sent(request: ModelRequest, settings: AnthropicSettings = SETTINGS, **images: str) -> dict:
    body = build_body(request, settings, images={f"/{name}": data for name, data in images.items()})
    read_request(body)
    return msgspec.json.decode(body)


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        (OFFICIAL_URL, "https://api.anthropic.com/v1/messages"),
        ("https://proxy.test/anthropic/", "https://proxy.test/anthropic/v1/messages"),
        ("https://proxy.test/v1", "https://proxy.test/v1/messages"),
    ],
)
def test_calls_go_to_the_messages_of_the_base_address(base_url, url):
    assert msgspec.structs.replace(SETTINGS, base_url=base_url).messages_url == url


@pytest.mark.req("M1", "P4")
@pytest.mark.parametrize(
    ("credentials", "headers"),
    [
        ({"api_key": "sk-ant-api-1"}, {"x-api-key": "sk-ant-api-1"}),
        (
            {"api_key": "sk-ant-oat01-1"},
            {"authorization": "Bearer sk-ant-oat01-1", "anthropic-beta": "oauth-2025-04-20"},
        ),
        (
            {"api_key": "sk-ant-api-1", "oauth_token": "t"},
            {"authorization": "Bearer t", "anthropic-beta": "oauth-2025-04-20"},
        ),
        ({}, {}),
    ],
)
def test_a_key_and_a_token_are_shown_each_in_its_own_way(credentials, headers):
    settings = AnthropicSettings(name="m", model="m", **credentials)

    assert build_headers(settings) == {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "anthropic-version": "2023-06-01",
        **headers,
    }


@pytest.mark.req("P6", "M2")
@pytest.mark.parametrize(
    ("fields", "usable"),
    [
        ({}, False),
        ({"api_key": "k"}, True),
        ({"oauth_token": "t"}, True),
        ({"api_key": "k", "enabled": False}, False),
        ({"base_url": "http://127.0.0.1:1"}, True),
    ],
)
def test_a_service_is_usable_with_a_credential_or_on_this_machine(fields, usable):
    assert AnthropicSettings(name="m", model="m", **fields).usable is usable


@pytest.mark.req("M2")
@pytest.mark.parametrize("field", ["api_key", "oauth_token"])
@pytest.mark.parametrize("key", ["sk-1\n", "sk 1", "sk-é"])
def test_a_key_that_cannot_be_one_is_refused_by_name_and_not_shown(field, key):
    with pytest.raises(ConfigurationError, match=rf"providers\.m\.{field}") as caught:
        AnthropicSettings(name="m", model="m", **{field: key}).check()

    assert key not in str(caught.value)


OLDEST = Traits(budget=False, adaptive=False, sampling=True, schema=False)
SECOND = msgspec.structs.replace(OLDEST, budget=True)
WITH_SCHEMA = msgspec.structs.replace(SECOND, schema=True)
BOTH = msgspec.structs.replace(WITH_SCHEMA, adaptive=True)
BY_EFFORT = msgspec.structs.replace(BOTH, budget=False, sampling=False)


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("model", "traits"),
    [
        ("claude-3-haiku-20240307", OLDEST),
        ("claude-3-5-sonnet-20241022", OLDEST),
        ("claude-3-7-sonnet-20250219", SECOND),
        ("claude-sonnet-4-20250514", SECOND),
        ("claude-opus-4-1-20250805", SECOND),
        ("claude-haiku-4-5-20251001", WITH_SCHEMA),
        ("claude-haiku-4-5", WITH_SCHEMA),
        ("anthropic/claude-sonnet-4.5", WITH_SCHEMA),
        ("claude-sonnet-4-6", BOTH),
        ("claude-opus-4-7", BY_EFFORT),
        ("claude-sonnet-5", BY_EFFORT),
        ("claude-opus-5-5", BY_EFFORT),
        ("claude-mythos-preview", BY_EFFORT),
        ("kimi-k2", SECOND),
    ],
)
def test_a_models_name_tells_what_its_requests_may_hold(model, traits):
    assert traits_of(model) == traits


@pytest.mark.req("M6")
def test_several_types_become_variants_and_the_dialect_of_the_schema_is_left_out():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"a": {"type": ["string", "null"], "maxLength": 3, "description": "A."}},
    }

    assert fit(schema) == {
        "type": "object",
        "properties": {
            "a": {
                "anyOf": [{"type": "string", "description": "{maxLength: 3}"}, {"type": "null"}],
                "description": "A.",
            }
        },
        "additionalProperties": False,
    }


@pytest.mark.req("M6")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"description": "anything"},
        {"type": "array", "items": True},
        {"$ref": "#"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}}},
        {"type": "string", "anyOf": [{"type": "string"}], "oneOf": [{"type": "string"}]},
        {"allOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"type": "string"}}},
    ],
)
def test_a_schema_that_would_become_another_one_does_not_fit(schema):
    with pytest.raises(DoesNotFit):
        fit(schema)


@pytest.mark.req("M3")
def test_the_prefix_stays_the_same_while_a_conversation_grows():
    history = (
        user_text("q"),
        ChatMessage("assistant", (ToolCallPart("c", "t", '{"b": 1.0, "a": 2}'),)),
        ChatMessage("tool", (ToolResultPart("c", "t", "ok"),)),
        ChatMessage("assistant", (TextPart("done"),)),
    )
    now = ModelRequest(model="m", system=("One.",), messages=(*history, user_text("now")))
    later = ModelRequest(
        model="m",
        system=("One.",),
        messages=(
            *history,
            user_text("now"),
            ChatMessage("assistant", (TextPart("yes"),)),
            user_text("later"),
        ),
    )

    before = build_body(now, SETTINGS, images={})
    after = build_body(later, SETTINGS, images={})

    shared = before[: before.index(b'"now"')]
    assert b'{"b": 1.0, "a": 2}' in shared
    assert after.startswith(shared)


@pytest.mark.req("M7")
def test_an_image_that_the_service_would_refuse_for_its_size_becomes_words():
    image = ImagePart(Media("image/png", path="/a"))
    request = ModelRequest(model="m", messages=(ChatMessage("user", (image,)),))

    small = sent(request, a="iVBORw" + "A" * 100)["messages"][0]["content"][0]
    large = sent(request, a="iVBORw" + "A" * 5_242_880)["messages"][0]["content"][0]

    assert (small["type"], small["source"]["media_type"]) == ("image", "image/png")
    assert large == {
        "type": "text",
        "text": "[an image was attached; it is no longer available or too large]",
    }


@pytest.mark.req("M1")
def test_a_newer_version_of_the_api_is_sent_no_temperature():
    newer = msgspec.structs.replace(SETTINGS, api_version="2026-10-21")
    request = ModelRequest(model="m", messages=(user_text("hi"),), temperature=0.5, top_p=0.5)

    assert "temperature" in sent(request)
    assert not {"temperature", "top_p"} & sent(request, newer).keys()
    assert build_headers(newer)["anthropic-version"] == "2026-10-21"


CLOCK = ToolSpec("clock", "The time.", msgspec.Raw(b'{"type":"object"}'))


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (ToolChoice(), {"type": "auto", "disable_parallel_tool_use": True}),
        (ToolChoice("required"), {"type": "any", "disable_parallel_tool_use": True}),
        (
            ToolChoice("required", "clock"),
            {"type": "tool", "name": "clock", "disable_parallel_tool_use": True},
        ),
        (ToolChoice("none"), {"type": "none"}),
    ],
)
def test_one_call_at_a_time_is_part_of_the_choice(choice, expected):
    request = ModelRequest(
        model="",
        messages=(user_text("when?"),),
        tools=(CLOCK,),
        tool_choice=choice,
        parallel_tools=False,
    )

    assert sent(request)["tool_choice"] == expected


@pytest.mark.req("M5")
def test_without_tools_there_is_no_choice():
    request = ModelRequest(model="", messages=(user_text("hello"),), parallel_tools=False)

    assert sent(request).get("tool_choice") is None


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("model", "reasoning", "limit"),
    [
        ("claude-haiku-4-5-20251001", None, 64_000),
        ("claude-haiku-4-5-20251001", "high", 64_000),
        ("claude-opus-4-1", 31_999, 32_000),
        ("claude-sonnet-4-6", None, 128_000),
        ("claude-of-next-year", None, 16_384),
        ("some-compatible-model", None, 4096),
    ],
)
def test_a_call_without_a_limit_gets_the_models_own(model, reasoning, limit):
    settings = msgspec.structs.replace(SETTINGS, own_limit=most_output)
    request = ModelRequest(model=model, messages=(user_text("hi"),), reasoning=reasoning)

    assert sent(request, settings)["max_tokens"] == limit


@pytest.mark.req("A20")
def test_a_limit_that_was_asked_for_or_configured_stays():
    settings = msgspec.structs.replace(SETTINGS, own_limit=most_output, max_output_tokens=900)
    asked = ModelRequest(model="", messages=(user_text("hi"),), max_output_tokens=70)

    assert sent(asked, settings)["max_tokens"] == 70
    plain = msgspec.structs.replace(asked, max_output_tokens=None)
    assert sent(plain, settings)["max_tokens"] == 900


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    "model",
    [
        "claude-3-7-sonnet-latest",
        "claude-sonnet-4-20250514",
        "claude-sonnet-4-5",
        "claude-opus-4-6",
        "claude-opus-4-7",
        "claude-haiku-5",
        "claude-fable-5",
        "claude-mythos-preview",
        "MiniMax-M2",
    ],
)
def test_the_table_knows_which_models_take_no_sampling(model):
    assert ("temperature" in service_options("anthropic").of(model)) == traits_of(model).sampling
