"""A model request on the OpenAI wire: roles, blocks, tools and images as the service wants them."""

import msgspec
import pytest

from hermes.errors import ConfigurationError
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Media,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.ports.provider import ModelRequest, ToolSpec
from hermes.providers.openai.settings import OFFICIAL_URL, OpenAISettings, check
from hermes.providers.openai.wire import build_body, image_files
from hermes.testing.openai_shape import read_request

SETTINGS = OpenAISettings(name="m", model="m-1", base_url="http://127.0.0.1:1/v1")
SCHEMA = msgspec.Raw(b'{"type":"object","properties":{"city":{"type":"string"}}}')


def sent(request: ModelRequest, settings: OpenAISettings = SETTINGS, **images: str) -> dict:
    body = build_body(request, settings, images={f"/{name}": url for name, url in images.items()})
    read_request(body)
    return msgspec.json.decode(body)


@pytest.mark.req("M1", "M3", "M4", "M5")
def test_turns_stay_turns_and_every_block_and_result_is_its_own_message():
    request = ModelRequest(
        model="m-2",
        system=("You are Hermes.", "", "Think first."),
        messages=(
            user_text("weather?"),
            ChatMessage(
                "assistant",
                (
                    TextPart("Looking."),
                    ToolCallPart("c1", "weather", '{"city":"Oslo"}'),
                    ToolCallPart("c2", "weather", '{"city":"Rome"}'),
                ),
            ),
            ChatMessage(
                "tool",
                (
                    ToolResultPart("c1", "weather", "cold"),
                    ToolResultPart("c2", "weather", "warm"),
                ),
            ),
            ChatMessage("assistant", (TextPart("Cold and warm."),)),
            user_text("thanks"),
        ),
        tools=(ToolSpec("weather", "Tells the weather.", SCHEMA),),
        max_output_tokens=50,
        temperature=0.5,
    )

    def call(id_: str, city: str) -> dict:
        function = {"name": "weather", "arguments": f'{{"city":"{city}"}}'}
        return {"id": id_, "type": "function", "function": function}

    assert sent(request) == {
        "model": "m-2",
        "messages": [
            {"role": "system", "content": "You are Hermes."},
            {"role": "system", "content": "Think first."},
            {"role": "user", "content": "weather?"},
            {
                "role": "assistant",
                "content": "Looking.",
                "tool_calls": [call("c1", "Oslo"), call("c2", "Rome")],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "cold"},
            {"role": "tool", "tool_call_id": "c2", "content": "warm"},
            {"role": "assistant", "content": "Cold and warm."},
            {"role": "user", "content": "thanks"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "Tells the weather.",
                    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
                },
            }
        ],
        "max_tokens": 50,
        "temperature": 0.5,
    }


@pytest.mark.req("M4")
def test_without_system_blocks_there_is_no_system_message():
    request = ModelRequest(model="m", system=("", ""), messages=(user_text("hi"),))

    assert sent(request)["messages"] == [{"role": "user", "content": "hi"}]


@pytest.mark.req("M7")
def test_images_go_by_bytes_first_then_by_address():
    parts = (
        TextPart("look"),
        ImagePart(Media("image/png", path="/a", url="https://cdn.test/a")),
        ImagePart(Media("image/png", url="https://cdn.test/b")),
        ImagePart(Media("image/png", path="/gone")),
    )
    request = ModelRequest(model="m", messages=(ChatMessage("user", parts),))

    body = sent(request, a="data:image/png;base64,AAAA")

    assert image_files(request) == {"/a": "image/png", "/gone": "image/png"}
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "image_url", "image_url": {"url": "https://cdn.test/b"}},
        {"type": "text", "text": "[an image was attached; it is no longer available]"},
    ]


@pytest.mark.req("M7")
def test_what_the_model_cannot_take_becomes_words():
    parts = (
        ImagePart(Media("image/png", url="https://cdn.test/a")),
        AudioPart(Media("audio/ogg"), transcript="good morning"),
        FilePart(Media("application/pdf", name="menu.pdf")),
    )
    blind = msgspec.structs.replace(SETTINGS, vision=False)
    request = ModelRequest(model="m", messages=(ChatMessage("user", parts),))

    assert sent(request, blind)["messages"][0]["content"] == (
        "[an image was attached; this model cannot see images]\ngood morning\n"
        "[a file was attached: menu.pdf]"
    )


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("base_url", "asked", "limit", "expected"),
    [
        (OFFICIAL_URL, 100, None, {"max_completion_tokens": 100}),
        ("http://localhost:1/v1", 100, 40, {"max_tokens": 40}),
        ("http://localhost:1/v1", None, 40, {"max_tokens": 40}),
        ("http://localhost:1/v1", None, None, {}),
    ],
)
def test_the_smaller_output_limit_is_sent_under_the_name_the_service_knows(
    base_url, asked, limit, expected
):
    settings = msgspec.structs.replace(SETTINGS, base_url=base_url, max_output_tokens=limit)
    request = ModelRequest(model="m", messages=(user_text("hi"),), max_output_tokens=asked)

    body = sent(request, settings)

    assert {key: value for key, value in body.items() if "tokens" in key} == expected


@pytest.mark.req("P6", "M2")
@pytest.mark.parametrize(
    ("base_url", "key", "enabled", "usable"),
    [
        (OFFICIAL_URL, None, True, False),
        (OFFICIAL_URL, "sk-1", True, True),
        (OFFICIAL_URL, "sk-1", False, False),
        ("https://openrouter.ai/api/v1", None, True, False),
        ("http://127.0.0.1:11434/v1", None, True, True),
    ],
)
def test_a_service_is_usable_with_a_key_or_at_an_address_of_ones_own(
    base_url, key, enabled, usable
):
    settings = OpenAISettings(name="m", model="m", base_url=base_url, api_key=key, enabled=enabled)

    assert settings.usable is usable


@pytest.mark.req("M2")
@pytest.mark.parametrize("key", ["sk-1\n", "sk 1", "sk-é"])
def test_a_key_that_cannot_be_one_is_refused_by_name_and_not_shown(key):
    with pytest.raises(ConfigurationError, match=r"providers\.m\.api_key") as caught:
        check(OpenAISettings(name="m", model="m", api_key=key))

    assert key not in str(caught.value)
