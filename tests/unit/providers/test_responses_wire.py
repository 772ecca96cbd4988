"""A model request on the Responses wire: items, instructions, tools, schema and sealed reasoning."""

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
from hermes.ports.provider import ModelRequest, OutputSchema, ToolChoice, ToolSpec
from hermes.providers.openai_responses.settings import OFFICIAL_URL, ResponsesSettings
from hermes.providers.openai_responses.wire import build_body
from hermes.testing.responses_shape import read_request

SETTINGS = ResponsesSettings(name="r", model="gpt-5-mini", base_url="http://127.0.0.1:1/v1")
SCHEMA = msgspec.Raw(b'{"type":"object"}')
TOOLS = (ToolSpec("clock", "Tells the time.", SCHEMA),)


def sent(request: ModelRequest, settings: ResponsesSettings = SETTINGS, **images: str) -> dict:
    body = build_body(request, settings, images={f"/{name}": url for name, url in images.items()})
    read_request(body)
    return msgspec.json.decode(body)


def asked(**fields) -> ModelRequest:
    return ModelRequest(model="gpt-4o", messages=(user_text("hi"),), **fields)


@pytest.mark.req("M1", "M3", "M4", "M5")
def test_a_conversation_is_sent_as_items_in_its_order_and_nothing_is_left_at_the_service():
    request = ModelRequest(
        model="",
        system=("You are Hermes.", "", "Think first."),
        messages=(
            user_text("time?"),
            ChatMessage(
                "assistant",
                (
                    ReasoningPart("One. ", "responses", sealed="sealed==", id="rs_1"),
                    ReasoningPart("Two.", "responses", id="rs_1"),
                    ReasoningPart("not of here", "anthropic", signature="s"),
                    TextPart("Looking."),
                    ToolCallPart("c1", "clock", '{"zone":"Oslo"}'),
                    ToolCallPart("c2", "clock", "{}"),
                ),
            ),
            ChatMessage(
                "tool",
                (ToolResultPart("c1", "clock", "noon"), ToolResultPart("c2", "clock", "one")),
            ),
            ChatMessage("assistant", (TextPart("Noon."),)),
            user_text("thanks"),
        ),
        tools=TOOLS,
        max_output_tokens=50,
        temperature=0.5,
        top_p=0.9,
    )

    assert sent(request) == {
        "model": "gpt-5-mini",
        "instructions": "You are Hermes.",
        "input": [
            {"role": "system", "content": "Think first."},
            {"role": "user", "content": "time?"},
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [
                    {"type": "summary_text", "text": "One. "},
                    {"type": "summary_text", "text": "Two."},
                ],
                "encrypted_content": "sealed==",
            },
            {"role": "assistant", "content": "Looking."},
            {
                "type": "function_call",
                "call_id": "c1",
                "name": "clock",
                "arguments": '{"zone":"Oslo"}',
            },
            {"type": "function_call", "call_id": "c2", "name": "clock", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "noon"},
            {"type": "function_call_output", "call_id": "c2", "output": "one"},
            {"role": "assistant", "content": "Noon."},
            {"role": "user", "content": "thanks"},
        ],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 50,
        "temperature": 0.5,
        "top_p": 0.9,
        "tools": [
            {
                "type": "function",
                "name": "clock",
                "description": "Tells the time.",
                "parameters": {"type": "object"},
                "strict": False,
            }
        ],
    }


@pytest.mark.req("M3")
def test_sealed_reasoning_without_ids_stays_apart_and_is_sent_without_one():
    thoughts = (
        ReasoningPart("One.", "responses", sealed="first=="),
        ReasoningPart("More.", "responses"),
        ReasoningPart("", "responses", sealed="second=="),
    )
    request = ModelRequest(
        model="gpt-5",
        messages=(user_text("hi"), ChatMessage("assistant", (*thoughts, TextPart("Yes.")))),
    )

    assert sent(request)["input"][1:3] == [
        {
            "type": "reasoning",
            "summary": [
                {"type": "summary_text", "text": "One."},
                {"type": "summary_text", "text": "More."},
            ],
            "encrypted_content": "first==",
        },
        {"type": "reasoning", "summary": [], "encrypted_content": "second=="},
    ]


@pytest.mark.req("M4")
def test_without_system_blocks_there_are_no_instructions():
    assert sent(asked(system=("", ""))) == {
        "model": "gpt-4o",
        "input": [{"role": "user", "content": "hi"}],
        "stream": True,
        "store": False,
    }


@pytest.mark.req("M5", "M6")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"tool_choice": ToolChoice("required")}, {}),
        ({"tools": TOOLS, "tool_choice": ToolChoice("none")}, {"tool_choice": "none"}),
        ({"tools": TOOLS, "tool_choice": ToolChoice("required")}, {"tool_choice": "required"}),
        (
            {"tools": TOOLS, "tool_choice": ToolChoice("required", "clock")},
            {"tool_choice": {"type": "function", "name": "clock"}},
        ),
        (
            {"schema": OutputSchema(name="answer", schema=SCHEMA, strict=False)},
            {
                "text": {
                    "format": {
                        "type": "json_schema",
                        "name": "answer",
                        "schema": {"type": "object"},
                        "strict": False,
                    }
                }
            },
        ),
        (
            {"reasoning": 3000},
            {"reasoning": {"effort": "medium"}, "include": ["reasoning.encrypted_content"]},
        ),
        ({"max_output_tokens": 3}, {"max_output_tokens": 16}),
    ],
)
def test_choice_schema_and_effort_are_sent_as_they_were_asked_for(fields, expected):
    body = sent(asked(**fields))

    plain = {"model", "input", "stream", "store", "tools"}
    assert {k: v for k, v in body.items() if k not in plain} == expected


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-5.2", {"reasoning": {"effort": "none"}, "include": ["reasoning.encrypted_content"]}),
        ("gpt-5-mini", {"include": ["reasoning.encrypted_content"]}),
        ("gpt-5.2-pro", {"include": ["reasoning.encrypted_content"]}),
        ("gpt-4o", {}),
    ],
)
def test_a_budget_of_zero_turns_reasoning_off_or_is_left_out(model, expected):
    official = ResponsesSettings(name="m", model=model, reasoning_summary="auto")
    request = ModelRequest(model="", messages=(user_text("hi"),), reasoning=0)
    body = msgspec.json.decode(build_body(request, official, images={}))

    plain = {"model", "input", "stream", "store"}
    assert {k: v for k, v in body.items() if k not in plain} == expected


@pytest.mark.req("M1")
def test_a_summary_is_asked_for_only_where_it_is_configured():
    settings = msgspec.structs.replace(SETTINGS, reasoning_summary="auto")

    assert sent(asked(reasoning="low"), settings)["reasoning"] == {
        "effort": "low",
        "summary": "auto",
    }


@pytest.mark.req("M3")
@pytest.mark.parametrize(
    ("model", "sealed"),
    [("gpt-5-mini", True), ("o3", True), ("gpt-4o", False), ("gpt-5.3-chat-latest", False)],
)
def test_sealed_reasoning_is_asked_of_models_that_have_some(model, sealed):
    body = sent(ModelRequest(model=model, messages=(user_text("hi"),)))

    assert ("include" in body) is sealed


@pytest.mark.req("M1")
def test_stop_sequences_are_refused_and_never_left_out():
    with pytest.raises(ProviderRejected, match="no stop sequences"):
        sent(asked(stop=("END",)))


@pytest.mark.req("M7")
def test_images_go_by_bytes_first_then_by_address_and_other_things_become_words():
    parts = (
        TextPart("look"),
        ImagePart(Media("image/png", path="/a", url="https://cdn.test/a")),
        ImagePart(Media("image/png", url="https://cdn.test/b")),
        ImagePart(Media("image/png", path="/gone")),
        AudioPart(Media("audio/ogg"), transcript="good morning"),
        FilePart(Media("application/pdf", name="menu.pdf")),
    )
    request = ModelRequest(model="m", messages=(ChatMessage("user", parts),))
    blind = msgspec.structs.replace(SETTINGS, vision=False)

    seen = sent(request, a="data:image/png;base64,AAAA")["input"][0]["content"]
    unseen = sent(request, blind)["input"][0]["content"]

    def text(words: str) -> dict:
        return {"type": "input_text", "text": words}

    assert seen == [
        text("look"),
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
        {"type": "input_image", "image_url": "https://cdn.test/b", "detail": "auto"},
        text("[an image was attached; it is no longer available or too large]"),
        text("good morning"),
        text("[a file was attached: menu.pdf]"),
    ]
    assert unseen[1] == text("[an image was attached; this model cannot see images]")


@pytest.mark.req("P6", "M2")
@pytest.mark.parametrize(
    ("base_url", "key", "enabled", "usable"),
    [
        (OFFICIAL_URL, None, True, False),
        (OFFICIAL_URL, "sk-1", True, True),
        (OFFICIAL_URL, "sk-1", False, False),
        ("http://127.0.0.1:9/v1", None, True, True),
    ],
)
def test_a_service_is_usable_with_a_key_or_at_an_address_of_ones_own(
    base_url, key, enabled, usable
):
    settings = ResponsesSettings(
        name="r", model="m", base_url=base_url, api_key=key, enabled=enabled
    )

    assert settings.usable is usable


@pytest.mark.req("M2")
def test_a_key_that_cannot_be_one_is_refused_by_name_and_not_shown():
    with pytest.raises(ConfigurationError, match=r"providers\.r\.api_key") as caught:
        ResponsesSettings(name="r", model="m", api_key="sk 1").check()

    assert "sk 1" not in str(caught.value)


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"tools": TOOLS, "parallel_tools": False}, False),
        ({"tools": TOOLS}, None),
        ({"parallel_tools": False}, None),
    ],
)
def test_one_call_at_a_time_is_asked_for_only_with_tools(fields, expected):
    settings = msgspec.structs.replace(SETTINGS, base_url=OFFICIAL_URL)

    body = msgspec.json.decode(build_body(asked(**fields), settings, images={}))

    assert body.get("parallel_tool_calls") is expected


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("base_url", "model"),
    [(OFFICIAL_URL, "o3-mini"), ("https://mine.openai.azure.com/openai/v1", "gpt-5-mini")],
)
def test_one_call_at_a_time_is_not_asked_for_where_the_field_may_be_refused(base_url, model):
    settings = msgspec.structs.replace(SETTINGS, base_url=base_url, model=model)
    request = msgspec.structs.replace(asked(tools=TOOLS, parallel_tools=False), model="")

    body = msgspec.json.decode(build_body(request, settings, images={}))

    assert "parallel_tool_calls" not in body
