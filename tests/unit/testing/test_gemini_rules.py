"""The Gemini stand-in refuses what the service refuses, and says why in its words."""

from typing import Any

import msgspec
import pytest

from hermes.testing.gemini_rules import check_embed, check_generate
from hermes.testing.gemini_server import seen_in
from hermes.testing.gemini_shape import ShapeError, read_embed, read_generate
from hermes.testing.model_script import SeenConversation

OLD, NEW = "gemini-2.5-flash", "gemini-3-pro"
HI: dict[str, Any] = {"role": "user", "parts": [{"text": "hi"}]}
CALL: dict[str, Any] = {
    "role": "model",
    "parts": [{"functionCall": {"name": "f", "id": "1", "args": {}}}],
}
SIGNED_CALL = {"role": "model", "parts": [{**CALL["parts"][0], "thoughtSignature": "c2ln"}]}
RESULT: dict[str, Any] = {
    "role": "user",
    "parts": [{"functionResponse": {"name": "f", "id": "1", "response": {"output": "x"}}}],
}
TOOL = {"functionDeclarations": [{"name": "f", "description": "F."}]}


def declared(**fields: Any) -> dict:
    return {"tools": [{"functionDeclarations": [{"name": "f", "description": "F.", **fields}]}]}


def calling(**fields: Any) -> dict:
    return {"tools": [TOOL], "toolConfig": {"functionCallingConfig": fields}}


def refusal(body: dict, model: str = OLD) -> str | None:
    """Return why the stand-in refuses `body`; None when it takes it."""
    try:
        check_generate(read_generate(msgspec.json.encode(body)), model)
    except ShapeError as error:
        return str(error)
    return None


def holding(part: dict, role: str = "user") -> dict:
    return {"contents": [HI, {"role": role, "parts": [part]}]}


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "contents is not specified"),
        ({"contents": [{"parts": [{"text": "hi"}]}]}, "valid role: user, model"),
        ({"contents": [{**HI, "role": "assistant"}]}, "valid role: user, model"),
        ({"contents": [{**HI, "role": "system"}]}, "valid role: user, model"),
        ({"contents": [{**HI, "role": "tool"}]}, "valid role: user, model"),
        ({"contents": [{"role": "user", "parts": []}]}, "parts must not be empty"),
        (holding({}), "must have one initialized field"),
        (holding({"text": "a", "inlineData": {"mimeType": "m", "data": "YQ=="}}), "one initial"),
        (holding({"text": ""}), "empty text"),
        (holding({"text": "a", "thoughtSignature": "?"}, "model"), "Base64 decoding failed"),
        (holding({"inlineData": {"mimeType": "image/png", "data": "?"}}), "Base64"),
        (holding({"fileData": {"fileUri": ""}}), "file_uri"),
        (holding({"text": "a", "colour": 1}), "unknown field `colour`"),
        ({"contents": [HI], "messages": []}, "unknown field `messages`"),
        ({"contents": [HI], "generationConfig": {"maxTokens": 1}}, "unknown field `maxTokens`"),
        ({"contents": [CALL, RESULT]}, "function call turn comes immediately after a user"),
        ({"contents": [HI, RESULT]}, "function response turn comes immediately after"),
        ({"contents": [HI, CALL, HI]}, "number of function response parts"),
        ({"contents": [HI, CALL]}, "number of function response parts"),
        (holding(CALL["parts"][0]), "must have the role model"),
        (holding(RESULT["parts"][0], "model"), "must have the role user"),
        ({"contents": [HI], "systemInstruction": {"parts": []}}, "only text"),
        ({"contents": [HI], "tools": [{}]}, "tool_type is required"),
        ({"contents": [HI], "tools": [TOOL, TOOL]}, "Duplicate function declaration"),
        ({"contents": [HI], **declared(name="1 f")}, "Invalid function name"),
        ({"contents": [HI], **declared(description="")}, "description"),
        ({"contents": [HI], **declared(parametersJsonSchema={"type": "array"})}, "an object"),
        (
            {"contents": [HI], **declared(parameters={}, parametersJsonSchema={})},
            "are exclusive",
        ),
        (
            {
                "contents": [HI],
                **declared(parametersJsonSchema={"type": "object", "items": {"$ref": "", "a": 1}}),
            },
            "nothing else may be set",
        ),
        ({"contents": [HI], **calling(mode="AUTO"), "tools": []}, "without function_declarations"),
        ({"contents": [HI], **calling(mode="AUTO", allowedFunctionNames=["f"])}, "mode is ANY"),
        ({"contents": [HI], **calling(mode="ANY", allowedFunctionNames=["g"])}, "a subset"),
        ({"contents": [HI], **calling(mode="MUST")}, "Invalid enum value"),
        ({"contents": [HI], "generationConfig": {"temperature": 2.5}}, "temperature"),
        ({"contents": [HI], "generationConfig": {"topP": 1.5}}, "top_p"),
        ({"contents": [HI], "generationConfig": {"maxOutputTokens": 0}}, "max_output_tokens"),
        ({"contents": [HI], "generationConfig": {"stopSequences": ["a"] * 6}}, "at most 5"),
        ({"contents": [HI], "generationConfig": {"responseJsonSchema": {}}}, "response_mime_type"),
        (
            {
                "contents": [HI],
                "generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}},
            },
            "Thinking level is not supported",
        ),
        (
            {
                "contents": [HI],
                "generationConfig": {
                    "thinkingConfig": {"thinkingLevel": "LOW", "thinkingBudget": 1}
                },
            },
            "only set one of",
        ),
    ],
)
def test_what_the_service_refuses_is_refused(body, words):
    said = refusal(body)

    assert said is not None
    assert words in said


@pytest.mark.req("M1", "M5")
@pytest.mark.parametrize(
    "body",
    [
        {"contents": [HI]},
        {"contents": [HI, HI]},
        {"contents": [HI, CALL, RESULT]},
        {"contents": [HI, CALL, RESULT, CALL, RESULT, HI]},
        {"contents": [HI], **calling(mode="ANY", allowedFunctionNames=["f"])},
        {"contents": [HI], "generation_config": {"max_output_tokens": 1}},
        {"contents": [HI], "tools": [{"function_declarations": [TOOL["functionDeclarations"][0]]}]},
    ],
)
def test_what_the_service_takes_is_taken(body):
    assert refusal(body) is None


@pytest.mark.req("M5")
def test_a_new_model_wants_the_signatures_of_the_running_turn_only():
    assert "missing a `thought_signature`" in (refusal({"contents": [HI, CALL, RESULT]}, NEW) or "")
    assert refusal({"contents": [HI, SIGNED_CALL, RESULT]}, NEW) is None
    assert refusal({"contents": [HI, CALL, RESULT, HI]}, NEW) is None


@pytest.mark.req("P6")
@pytest.mark.parametrize(
    ("requests", "words"),
    [
        ([], "at least one"),
        ([{"model": "models/e", "content": HI}] * 101, "at most"),
        ([{"model": "models/other", "content": HI}], "must match"),
        ([{"model": "models/e", "content": {"role": "user", "parts": []}}], "not be empty"),
    ],
)
def test_a_batch_of_embeddings_is_checked(requests, words):
    batch = read_embed(msgspec.json.encode({"requests": requests}))

    with pytest.raises(ShapeError, match=words):
        check_embed(batch, "models/e")


@pytest.mark.req("M3")
def test_a_script_sees_the_conversation_as_the_model_does():
    request = read_generate(msgspec.json.encode({"contents": [HI, CALL, RESULT]}))

    assert seen_in(request) == SeenConversation(1, "hi", ("x",))


@pytest.mark.req("M1")
@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff"])
def test_what_is_no_json_object_is_refused(body):
    with pytest.raises(ShapeError, match="Invalid JSON payload"):
        read_generate(body)
