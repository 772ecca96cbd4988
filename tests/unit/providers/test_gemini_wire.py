"""Requests as generateContent JSON: what the SDK oracle cannot say, and what must stay stable."""

import msgspec
import pytest

from hermes.errors import ConfigurationError, ProviderRejected
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Media,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.ports.options import Extras
from hermes.ports.provider import ModelRequest, OutputSchema, ToolChoice, ToolSpec
from hermes.providers.gemini.settings import GeminiSettings
from hermes.providers.gemini.wire import FOREIGN_SIGNATURE, build_body, fitted

NEW, OLD = "gemini-3-pro-preview", "gemini-2.5-flash"
SETTINGS = GeminiSettings(name="gemini", model=OLD)


def body_of(*messages: ChatMessage, settings: GeminiSettings = SETTINGS, **fields: object) -> dict:
    request = msgspec.structs.replace(
        ModelRequest(model=settings.model, messages=messages or (user_text("hi"),)), **fields
    )
    return msgspec.json.decode(build_body(request, settings, images={"/a.png": "iVBO"}))


def parts_of(*parts: Part, role: str = "user", settings: GeminiSettings = SETTINGS) -> list[dict]:
    message = msgspec.structs.replace(ChatMessage("user", parts), role=role)
    contents = body_of(message, settings=settings)["contents"]
    return contents[0]["parts"] if contents else []


@pytest.mark.req("M7")
def test_an_image_is_sent_by_its_file_then_its_address_and_said_to_be_gone_without_either():
    assert parts_of(
        ImagePart(Media("image/png", path="/a.png", url="https://private.example/a")),
        ImagePart(Media("image/png", path="/lost.png", url="https://example.org/a.png")),
        ImagePart(Media("image/png", path="/lost.png")),
        ImagePart(Media("image/svg+xml", url="data:image/svg+xml,%3Csvg/%3E")),
    ) == [
        {"inlineData": {"mimeType": "image/png", "data": "iVBO"}},
        {"fileData": {"mimeType": "image/png", "fileUri": "https://example.org/a.png"}},
        {"text": "[an image was attached; it is no longer available or too large]"},
        {"inlineData": {"mimeType": "image/svg+xml", "data": "PHN2Zy8+"}},
    ]


@pytest.mark.req("M5", "M7")
def test_what_cannot_be_shown_is_said_in_words():
    blind = msgspec.structs.replace(SETTINGS, vision=False)
    picture = ImagePart(Media("image/png", path="/a.png"))

    assert parts_of(picture, settings=blind) == [
        {"text": "[an image was attached; this model cannot see images]"}
    ]
    assert parts_of(
        AudioPart(Media("audio/ogg"), transcript="good morning"),
        AudioPart(Media("audio/ogg")),
        FilePart(Media("application/pdf", name="bill.pdf")),
    ) == [
        {"text": "good morning"},
        {"text": "[a sound was attached; it has no transcript]"},
        {"text": "[a file was attached: bill.pdf]"},
    ]


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"a": 1.0, "b": 12345678901234567890123}', {"a": 1.0, "b": 12345678901234567890123}),
        ("", {}),
        (" ", {}),
        ('{"a":', {"arguments": '{"a":'}),
        ("[1]", {"arguments": "[1]"}),
    ],
)
def test_arguments_are_sent_as_written_and_never_lost(arguments, sent):
    call = ToolCallPart("c1", "clock", arguments)

    assert parts_of(call, role="assistant") == [
        {"functionCall": {"id": "c1", "name": "clock", "args": sent}}
    ]


@pytest.mark.req("M5", "P5")
def test_a_new_model_gets_a_placeholder_only_for_the_first_call_that_it_did_not_sign():
    new = msgspec.structs.replace(SETTINGS, model=NEW)
    first, second = ToolCallPart("c1", "a", "{}"), ToolCallPart("c2", "a", "{}")
    signature = ReasoningPart("", "gemini", signature="c2ln", id="c1")

    foreign = parts_of(first, second, role="assistant", settings=new)
    own = parts_of(signature, first, second, role="assistant", settings=new)
    old = parts_of(first, second, role="assistant")

    assert [part.get("thoughtSignature") for part in foreign] == [FOREIGN_SIGNATURE, None]
    assert [part.get("thoughtSignature") for part in own] == ["c2ln", None]
    assert [part.get("thoughtSignature") for part in old] == [None, None]


@pytest.mark.req("M3")
def test_what_was_sent_stays_the_same_bytes_when_the_conversation_goes_on():
    new = msgspec.structs.replace(SETTINGS, model=NEW)
    before = (
        user_text("a"),
        ChatMessage("assistant", (ToolCallPart("c1", "clock", "{}"),)),
        ChatMessage("tool", (ToolResultPart("c1", "clock", "noon"),)),
    )
    after = (*before, ChatMessage("assistant", (TextPart("noon"),)), user_text("b"))
    built = [
        build_body(ModelRequest(model=NEW, messages=messages, system=("s",)), new, images={})
        for messages in (before, after)
    ]

    shared = built[0][: built[0].index(b'],"systemInstruction"')]

    assert built[1].startswith(shared)


@pytest.mark.req("M3")
def test_a_message_with_nothing_to_send_is_left_out_but_not_its_neighbours():
    contents = body_of(
        user_text("a"),
        ChatMessage("assistant", (ReasoningPart("hm", "openai"),)),
        ChatMessage("assistant", ()),
        user_text(""),
        user_text("b"),
    )["contents"]

    assert [content["parts"] for content in contents] == [[{"text": "a"}], [{"text": "b"}]]


@pytest.mark.req("M5")
def test_results_behind_a_tool_message_without_any_are_not_lost():
    contents = body_of(
        user_text("a"),
        ChatMessage("assistant", (ToolCallPart("c1", "clock", "{}"),)),
        ChatMessage("tool", ()),
        ChatMessage("tool", (ToolResultPart("c1", "clock", "noon"),)),
    )["contents"]

    assert contents[2:] == [
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": "c1",
                        "name": "clock",
                        "response": {"output": "noon"},
                    }
                }
            ],
        }
    ]


@pytest.mark.req("M4")
def test_system_messages_join_the_stacked_blocks_behind_them():
    body = body_of(
        user_text("a"), ChatMessage("system", (TextPart("later"),)), system=("first", "")
    )

    assert body["systemInstruction"]["parts"] == [{"text": "first"}, {"text": "later"}]
    assert [content["role"] for content in body["contents"]] == ["user"]


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("asked", "allowed", "sent"), [(None, 9, 9), (5, 9, 5), (12, 9, 9), (12, None, 12)]
)
def test_the_smaller_output_limit_counts(asked, allowed, sent):
    settings = msgspec.structs.replace(SETTINGS, max_output_tokens=allowed)

    config = body_of(settings=settings, max_output_tokens=asked)["generationConfig"]

    assert config == {"maxOutputTokens": sent}


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (ToolChoice(), None),
        (ToolChoice("auto", "a"), {"mode": "ANY", "allowedFunctionNames": ["a"]}),
        (ToolChoice("none", "a"), {"mode": "NONE"}),
    ],
)
def test_a_choice_of_tool_is_translated(choice, sent):
    tool = ToolSpec("a", "A.", msgspec.Raw(b'{"type":"object"}'))

    config = body_of(tools=(tool,), tool_choice=choice).get("toolConfig", {})

    assert config.get("functionCallingConfig") == sent


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("model", "told", "sent"),
    [
        (NEW, None, {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ("gemini-3.1-pro-preview", None, {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
        ("models/gemini-3-flash", None, {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
        ("gemini-flash-latest", None, {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
        (OLD, None, {"includeThoughts": True, "thinkingBudget": 8192}),
        ("models/gemini-2.5-pro", None, {"includeThoughts": True, "thinkingBudget": 8192}),
        (NEW, "budget", {"includeThoughts": True, "thinkingBudget": 8192}),
    ],
)
def test_effort_is_told_in_the_words_that_the_model_knows(model, told, sent):
    settings = msgspec.structs.replace(SETTINGS, model=model, thinking=told)

    config = body_of(settings=settings, reasoning="medium")["generationConfig"]

    assert config["thinkingConfig"] == sent


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("model", "budget", "sent"),
    [
        (OLD, 32_000, {"thinkingBudget": 24_576}),
        ("gemini-2.5-pro", 64_000, {"thinkingBudget": 32_768}),
        ("gemini-2.5-pro", 100, {"thinkingBudget": 128}),
        ("gemini-2.5-flash-lite", 100, {"thinkingBudget": 512}),
        (OLD, 100, {"thinkingBudget": 100}),
        ("gemini-3.5-flash", 1_024, {"thinkingLevel": "LOW"}),
        ("gemini-3.5-flash", 8_000, {"thinkingLevel": "MEDIUM"}),
        ("gemini-3.5-flash", 32_000, {"thinkingLevel": "HIGH"}),
    ],
)
def test_a_budget_is_one_that_the_model_takes(model, budget, sent):
    settings = msgspec.structs.replace(SETTINGS, model=model)

    config = body_of(settings=settings, reasoning=budget)["generationConfig"]

    assert config["thinkingConfig"] == {"includeThoughts": True, **sent}


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("model", "sent"),
    [
        (OLD, {"thinkingConfig": {"thinkingBudget": 0}}),
        ("gemini-3-flash-preview", {"thinkingConfig": {"thinkingLevel": "MINIMAL"}}),
        ("gemini-3.1-flash-lite", {"thinkingConfig": {"thinkingLevel": "MINIMAL"}}),
        ("gemini-3.7-flash", {}),
        ("gemini-2.5-pro", {}),
        (NEW, {}),
    ],
)
def test_no_reasoning_is_told_where_the_model_can_do_without(model, sent):
    settings = msgspec.structs.replace(SETTINGS, model=model)

    body = body_of(settings=settings, reasoning=0)

    assert body.get("generationConfig", {}) == sent


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("gemini-2.0-flash", {"frequencyPenalty": 0.5, "presencePenalty": 0.4, "topK": 3}),
        (OLD, {"topK": 3}),
        (NEW, {"topK": 3}),
    ],
)
def test_a_model_that_refuses_penalties_gets_none(model, sent):
    settings = msgspec.structs.replace(SETTINGS, model=model)
    extras = Extras(frequency_penalty=0.5, presence_penalty=0.4, top_k=3)

    assert body_of(settings=settings, extras=extras)["generationConfig"] == sent


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("seed", "sent"),
    [
        (7, 7),
        (-7, -7),
        (2**31 - 1, 2**31 - 1),
        (2**31 + 5, 5),
        (2**53 + 6, 6),
        (-(2**31) - 1, 2**31 - 1),
    ],
)
def test_a_large_seed_is_reduced_to_what_the_service_takes(seed, sent):
    assert body_of(seed=seed)["generationConfig"] == {"seed": sent}


@pytest.mark.req("M5", "M6")
def test_a_reference_stands_alone_and_everything_else_is_sent_as_written():
    untouched = msgspec.Raw(b'{"type":"object", "x-mine": [1.0], "$defs": {"a": {}}}')
    shared = {"$ref": "#/$defs/a", "description": "why"}
    schema = {
        "$ref": "#/$defs/a",
        "title": "root",
        "$defs": {"a": {"properties": {"$ref": {"type": "string"}, "b": {}}, "default": shared}},
        "items": [shared, {"$ref": "#/$defs/a"}],
    }

    made = msgspec.json.decode(fitted(msgspec.Raw(msgspec.json.encode(schema))))

    assert fitted(untouched) is untouched
    assert made == {
        "anyOf": [{"$ref": "#/$defs/a"}],
        "title": "root",
        "$defs": schema["$defs"],
        "items": [
            {"anyOf": [{"$ref": "#/$defs/a"}], "description": "why"},
            {"$ref": "#/$defs/a"},
        ],
    }


@pytest.mark.req("M6")
def test_the_schema_of_an_answer_is_fitted_too():
    schema = msgspec.Raw(b'{"$ref":"#/$defs/a","title":"t","$defs":{"a":{"type":"object"}}}')

    config = body_of(schema=OutputSchema(name="t", schema=schema))["generationConfig"]

    assert config == {
        "responseMimeType": "application/json",
        "responseJsonSchema": {
            "anyOf": [{"$ref": "#/$defs/a"}],
            "title": "t",
            "$defs": {"a": {"type": "object"}},
        },
    }


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("model", "resource"),
    [
        (OLD, f"models/{OLD}"),
        (f"models/{OLD}", f"models/{OLD}"),
        ("tunedModels/a", "tunedModels/a"),
    ],
)
def test_a_model_becomes_its_resource(model, resource):
    settings = msgspec.structs.replace(SETTINGS, base_url="http://h/", api_version="v1")

    assert settings.resource_of(model) == resource
    assert settings.url_of(resource, "x") == f"http://h/v1/{resource}:x"


@pytest.mark.req("W35", "M2")
@pytest.mark.parametrize("model", ["../files", "a/../../b", "a?key=1", "a:delete", "a b", "", "a#"])
def test_a_name_that_would_change_the_address_is_refused(model):
    with pytest.raises(ProviderRejected, match="is not a Gemini model name"):
        SETTINGS.resource_of(model)


@pytest.mark.req("M2")
@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("api_key", "two words", "one word"),
        ("api_key", "kéy", "one word"),
        ("base_url", "https://generativelanguage.googleapis.com/v1beta/", "set api_version"),
    ],
)
def test_settings_that_cannot_work_are_refused_with_the_fix(field, value, text):
    with pytest.raises(ConfigurationError, match=text):
        msgspec.structs.replace(SETTINGS, **{field: value}).check()


@pytest.mark.req("M2", "P6")
@pytest.mark.parametrize(
    ("fields", "usable"),
    [
        ({}, False),
        ({"api_key": "k"}, True),
        ({"api_key": "k", "enabled": False}, False),
        ({"base_url": "http://127.0.0.1:1"}, True),
    ],
)
def test_the_official_address_needs_a_key(fields, usable):
    assert msgspec.structs.replace(SETTINGS, **fields).usable is usable
