"""A model request on Ollama's own wire: options, tools, thinking, images and schema."""

import msgspec
import pytest

from hermes.errors import ConfigurationError, ProviderRejected
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Media,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.ports.options import Extras
from hermes.ports.provider import JSON_MODE, ModelRequest, OutputSchema, ToolChoice, ToolSpec
from hermes.providers.ollama.settings import OllamaSettings
from hermes.providers.ollama.wire import build_body, build_embedding
from hermes.testing.ollama_shape import read_chat, read_embed

SETTINGS = OllamaSettings(name="o", model="llama3.2")
SCHEMA = msgspec.Raw(b'{"type":"object"}')
TOOLS = (ToolSpec("clock", "Tells the time.", SCHEMA),)


def sent(request: ModelRequest, settings: OllamaSettings = SETTINGS, **images: str) -> dict:
    body = build_body(request, settings, images={f"/{name}": data for name, data in images.items()})
    read_chat(body)
    return msgspec.json.decode(body)


def asked(model: str = "", **fields) -> ModelRequest:
    return ModelRequest(model=model, messages=(user_text("hi"),), **fields)


@pytest.mark.req("M1", "M3", "M4", "M5", "M6")
def test_turns_stay_turns_and_arguments_become_objects():
    request = ModelRequest(
        model="qwen3",
        system=("You are Hermes.", "", "Think first."),
        messages=(
            user_text("time?"),
            ChatMessage(
                "assistant",
                (
                    ReasoningPart("hm", "ollama"),
                    ReasoningPart("not of here", "openai"),
                    TextPart("Looking."),
                    ToolCallPart("c1", "clock", '{"zone":"Oslo"}'),
                    ToolCallPart("c2", "clock", "not json"),
                ),
            ),
            ChatMessage(
                "tool",
                (ToolResultPart("c1", "clock", "noon"), ToolResultPart("c2", "clock", "one")),
            ),
            ChatMessage("assistant", (ReasoningPart("done", "ollama"), TextPart("Noon."))),
            user_text("thanks"),
        ),
        tools=TOOLS,
        max_output_tokens=50,
        temperature=0.5,
        top_p=0.9,
        stop=("END",),
        schema=OutputSchema(name="answer", schema=SCHEMA),
    )

    assert sent(request) == {
        "model": "qwen3",
        "messages": [
            {"role": "system", "content": "You are Hermes."},
            {"role": "system", "content": "Think first."},
            {"role": "user", "content": "time?"},
            {
                "role": "assistant",
                "content": "Looking.",
                "tool_calls": [
                    {"id": "c1", "function": {"name": "clock", "arguments": {"zone": "Oslo"}}},
                    {
                        "id": "c2",
                        "function": {"name": "clock", "arguments": {"arguments": "not json"}},
                    },
                ],
                "thinking": "hm",
            },
            {"role": "tool", "content": "noon", "tool_name": "clock", "tool_call_id": "c1"},
            {"role": "tool", "content": "one", "tool_name": "clock", "tool_call_id": "c2"},
            {"role": "assistant", "content": "Noon."},
            {"role": "user", "content": "thanks"},
        ],
        "stream": True,
        "options": {
            "num_ctx": 8192,
            "num_predict": 50,
            "temperature": 0.5,
            "top_p": 0.9,
            "stop": ["END"],
        },
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "clock",
                    "description": "Tells the time.",
                    "parameters": {"type": "object"},
                },
            }
        ],
        "format": {"type": "object"},
    }


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("asked_for", "limit", "expected"), [(100, 40, 40), (None, 40, 40), (None, None, None)]
)
def test_the_smaller_output_limit_is_sent(asked_for, limit, expected):
    settings = msgspec.structs.replace(SETTINGS, max_output_tokens=limit)

    options = sent(asked(max_output_tokens=asked_for), settings)["options"]

    assert options.get("num_predict") == expected


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("model", "wanted", "expected"),
    [
        ("qwen3", None, {}),
        ("qwen3", "high", {"think": True}),
        ("qwen3", 2000, {"think": True}),
        ("qwen3", 0, {"think": False}),
        ("gpt-oss:20b", "high", {"think": "high"}),
        ("gpt-oss:20b", 2000, {"think": True}),
    ],
)
def test_effort_is_sent_only_to_models_that_know_it(model, wanted, expected):
    body = sent(asked(model, reasoning=wanted))

    assert {k: v for k, v in body.items() if k == "think"} == expected


@pytest.mark.req("M5")
@pytest.mark.parametrize("choice", [ToolChoice("required"), ToolChoice("auto", "clock")])
def test_a_tool_cannot_be_forced_and_that_is_said(choice):
    with pytest.raises(ProviderRejected, match="cannot be made to use a tool"):
        sent(asked(tools=TOOLS, tool_choice=choice))


@pytest.mark.req("M5")
def test_without_the_choice_no_tools_are_offered():
    assert "tools" not in sent(asked(tools=TOOLS, tool_choice=ToolChoice("none")))


@pytest.mark.req("M7")
def test_images_go_as_bytes_and_other_things_become_words():
    parts = (
        TextPart("look"),
        ImagePart(Media("image/png", path="/a", url="https://cdn.test/a")),
        ImagePart(Media("image/png", url="data:image/png;base64,BBBB")),
        ImagePart(Media("image/png", path="/gone")),
        AudioPart(Media("audio/ogg"), transcript="good morning"),
        FilePart(Media("application/pdf", name="menu.pdf")),
    )
    request = ModelRequest(model="m", messages=(ChatMessage("user", parts),))
    blind = msgspec.structs.replace(SETTINGS, vision=False)

    seen = sent(request, a="AAAA")["messages"][0]
    unseen = sent(request, blind, a="AAAA")["messages"][0]

    assert seen == {
        "role": "user",
        "content": "look\n"
        "[an image was attached; it is no longer available or too large]\ngood morning\n"
        "[a file was attached: menu.pdf]",
        "images": ["AAAA", "BBBB"],
    }
    assert "images" not in unseen
    assert unseen["content"].count("this model cannot see images") == 3


@pytest.mark.req("M2")
@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"api_key": "a b"}, "api_key"),
        ({"base_url": "http://127.0.0.1:11434/v1"}, "base_url"),
        ({"base_url": "http://127.0.0.1:11434/api/"}, "base_url"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(fields, named):
    with pytest.raises(ConfigurationError, match=rf"providers\.o\.{named}"):
        OllamaSettings(name="o", model="m", **fields).check()


@pytest.mark.req("M1")
def test_rare_options_and_json_mode():
    extras = Extras(top_k=20, min_p=0.1, top_logprobs=2, logit_bias={"1": 1}, verbosity="low")
    body = sent(asked(seed=7, extras=extras, schema=JSON_MODE))
    assert body["options"] == {"num_ctx": 8192, "seed": 7, "top_k": 20, "min_p": 0.1}
    assert (body["format"], body["logprobs"], body["top_logprobs"]) == ("json", True, 2)


@pytest.mark.req("M1")
def test_vectors_have_the_length_that_was_asked_for():
    body = build_embedding(("one",), "embed-1", dimensions=64)
    assert read_embed(body).dimensions == 64
    assert read_embed(build_embedding(("one",), "embed-1")).dimensions is None
