"""What Gemini refuses in a request whose fields are all known, with Google's own texts. Pure.

Roles, empty parts, calls and their responses, signatures, tools and generation settings.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any

from hermes.testing.gemini_shape import (
    BatchEmbedRequest,
    Content,
    FunctionDeclaration,
    GenerateRequest,
    GenerationConfig,
    Part,
    ShapeError,
    ThinkingConfig,
)

_ROLES = frozenset({"user", "model"})
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_MOST_STOPS = 5
_MOST_EMBEDDINGS = 100
_DATA = ("text", "inline_data", "file_data", "function_call", "function_response")
_OLD_MODEL = re.compile(r"gemini-[12](?:\.\d+)?-")


def check_generate(request: GenerateRequest, model: str) -> None:
    """Raise `ShapeError` if the service would refuse `request` for `model`."""
    if not request.contents:
        raise ShapeError("* GenerateContentRequest.contents: contents is not specified")
    for index, content in enumerate(request.contents):
        _check_content(content, f"contents[{index}]")
    _check_order(request.contents)
    if not _OLD_MODEL.match(model):
        _check_signatures(request.contents)
    _check_system(request.system_instruction)
    _check_tools(request)
    if request.generation_config is not None:
        _check_generation(request.generation_config, model)


def check_embed(request: BatchEmbedRequest, resource: str) -> None:
    """Raise `ShapeError` if the service would refuse the batch for `resource`."""
    if not 0 < len(request.requests) <= _MOST_EMBEDDINGS:
        raise ShapeError(
            "* BatchEmbedContentsRequest.requests: at least one and at most"
            f" {_MOST_EMBEDDINGS} requests can be in one batch"
        )
    for index, one in enumerate(request.requests):
        if one.model != resource:
            raise ShapeError(
                f"* BatchEmbedContentsRequest.requests[{index}].model: model must match the one in"
                " the URL"
            )
        _check_content(one.content, f"requests[{index}].content")


def _check_content(content: Content, place: str) -> None:
    if content.role not in _ROLES:
        raise ShapeError("Please use a valid role: user, model.")
    if not content.parts:
        raise ShapeError(
            f"* GenerateContentRequest.{place}.parts: contents.parts must not be empty."
        )
    for index, part in enumerate(content.parts):
        _check_part(part, f"{place}.parts[{index}]", role=content.role)


def _check_part(part: Part, place: str, *, role: str) -> None:
    held = [name for name in _DATA if getattr(part, name) is not None]
    if len(held) != 1:
        raise ShapeError(
            f"* GenerateContentRequest.{place}.data: required oneof field 'data' must have one"
            " initialized field"
        )
    if part.text == "" and part.thought_signature is None:
        raise ShapeError(f"* GenerateContentRequest.{place}: has an empty text parameter.")
    if part.thought_signature is not None:
        _check_base64(part.thought_signature, f"{place}.thought_signature")
    if part.inline_data is not None:
        _check_base64(part.inline_data.data, f"{place}.inline_data.data")
    if part.file_data is not None and not part.file_data.file_uri:
        raise ShapeError(f"* GenerateContentRequest.{place}.file_data.file_uri: must not be empty")
    if role == "user" and part.function_call is not None:
        raise ShapeError(f"{place}: a function call must have the role model.")
    if role == "model" and part.function_response is not None:
        raise ShapeError(f"{place}: a function response must have the role user.")


def _check_base64(text: str, place: str) -> None:
    try:
        found = base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except binascii.Error as error:
        raise ShapeError(
            f"Invalid value at '{place}' (TYPE_BYTES), Base64 decoding failed"
        ) from error
    if not found:
        raise ShapeError(f"Invalid value at '{place}': must not be empty")


def _check_order(contents: list[Content]) -> None:
    """Check that calls follow a user message and that the next content answers all of them."""
    if contents[0].calls:
        raise ShapeError(
            "Please ensure that function call turn comes immediately after a user turn or after a"
            " function response turn."
        )
    for before, content in zip([None, *contents], [*contents, None], strict=True):
        calls = before.calls if before is not None else []
        responses = content.responses if content is not None else []
        if responses and not calls:
            raise ShapeError(
                "Please ensure that function response turn comes immediately after a function call"
                " turn."
            )
        asked = sorted((call.name, call.id or "") for call in calls)
        answered = sorted((response.name, response.id or "") for response in responses)
        if asked != answered:
            raise ShapeError(
                "Please ensure that the number of function response parts is equal to the number of"
                " function call parts of the function call turn."
            )


def _check_signatures(contents: list[Content]) -> None:
    """Check that in the current turn the first call of every step is signed."""
    for index in range(len(contents) - 1, -1, -1):
        content = contents[index]
        if content.role == "user" and not content.responses:
            return
        first = next((part for part in content.parts if part.function_call is not None), None)
        if first is not None and first.thought_signature is None:
            name = first.function_call.name if first.function_call is not None else ""
            raise ShapeError(
                f"Function call `{name}` in the `{index + 1}.` content block is missing a"
                " `thought_signature`."
            )


def _check_system(system: Content | None) -> None:
    if system is None:
        return
    if not system.parts or not all(part.text for part in system.parts):
        raise ShapeError("* GenerateContentRequest.system_instruction: only text is supported")


def _check_tools(request: GenerateRequest) -> None:
    if any(not tool.function_declarations for tool in request.tools):
        raise ShapeError("* GenerateContentRequest.tools: tool_type is required")
    names: set[str] = set()
    for index, declaration in enumerate(request.declarations):
        _check_declaration(declaration, index)
        if declaration.name in names:
            raise ShapeError(f"Duplicate function declaration found: {declaration.name}")
        names.add(declaration.name)
    config = request.tool_config.function_calling_config if request.tool_config else None
    if config is None:
        return
    if not names:
        raise ShapeError("Function calling config is set without function_declarations.")
    allowed = config.allowed_function_names
    if allowed and config.mode not in {"ANY", "VALIDATED"}:
        raise ShapeError("allowed_function_names should be set only when mode is ANY or VALIDATED.")
    if not names.issuperset(allowed):
        raise ShapeError("allowed_function_names must be a subset of the declared functions.")


def _check_declaration(declaration: FunctionDeclaration, index: int) -> None:
    place = f"GenerateContentRequest.tools[0].function_declarations[{index}]"
    if not _NAME.fullmatch(declaration.name):
        raise ShapeError(f"* {place}.name: Invalid function name.")
    if not declaration.description:
        raise ShapeError(f"* {place}.description: must not be empty.")
    schema = declaration.parameters_json_schema
    if schema is None:
        return
    if declaration.parameters is not None:
        raise ShapeError(f"* {place}: parameters and parameters_json_schema are exclusive.")
    if schema.get("type") != "object":
        raise ShapeError(f"* {place}.parameters_json_schema: schema must describe an object.")
    _check_references(schema, f"{place}.parameters_json_schema")


# Any: a JSON schema.
def _check_references(schema: Any, place: str) -> None:
    for node in _nodes(schema):
        if "$ref" in node and not all(word.startswith("$") for word in node):
            raise ShapeError(f"* {place}: nothing else may be set on a schema with $ref.")


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for child in children:
        yield from _nodes(child)


def _check_generation(config: GenerationConfig, model: str) -> None:
    if config.temperature is not None and not 0 <= config.temperature <= 2:
        raise ShapeError("* GenerationConfig.temperature: must be in the range [0.0, 2.0].")
    if config.top_p is not None and not 0 <= config.top_p <= 1:
        raise ShapeError("* GenerationConfig.top_p: must be in the range [0.0, 1.0].")
    if config.max_output_tokens is not None and config.max_output_tokens < 1:
        raise ShapeError("* GenerationConfig.max_output_tokens: must be positive.")
    if len(config.stop_sequences) > _MOST_STOPS:
        raise ShapeError(f"* GenerationConfig.stop_sequences: at most {_MOST_STOPS} are allowed.")
    _check_output_schema(config)
    if config.thinking_config is not None:
        _check_thinking(config.thinking_config, model)


def _check_output_schema(config: GenerationConfig) -> None:
    schemas = [s for s in (config.response_schema, config.response_json_schema) if s is not None]
    if len(schemas) > 1:
        raise ShapeError("response_schema and response_json_schema are exclusive.")
    if schemas and config.response_mime_type != "application/json":
        raise ShapeError("A response schema requires response_mime_type: 'application/json'.")
    if config.response_json_schema is not None:
        _check_references(config.response_json_schema, "GenerationConfig.response_json_schema")


def _check_thinking(config: ThinkingConfig, model: str) -> None:
    if config.thinking_level is not None and config.thinking_budget is not None:
        raise ShapeError("You can only set one of thinking budget and thinking level.")
    if config.thinking_level is not None and _OLD_MODEL.match(model):
        raise ShapeError("Thinking level is not supported for this model.")
    if config.thinking_budget == 0 and config.include_thoughts:
        raise ShapeError("include_thoughts is only enabled when thinking is enabled.")
