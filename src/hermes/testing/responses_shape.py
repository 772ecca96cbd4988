"""The part of OpenAI's Responses API that Hermes uses, checked strictly.

Pure: bytes in, a typed request or an OpenAI-shaped refusal out.
"""

import re
from typing import Any, Literal

import msgspec

_TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
_IMAGE_SCHEMES = ("http://", "https://", "data:image/")
_LEAST_OUTPUT_TOKENS = 16

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class ShapeError(Exception):
    """The request would be refused."""


class InputText(msgspec.Struct, tag_field="type", tag="input_text", forbid_unknown_fields=True):
    text: str


class InputImage(msgspec.Struct, tag_field="type", tag="input_image", forbid_unknown_fields=True):
    image_url: str
    detail: Literal["auto", "low", "high"] = "auto"


class InputFile(msgspec.Struct, tag_field="type", tag="input_file", forbid_unknown_fields=True):
    filename: str | None = None
    file_data: str | None = None
    file_url: str | None = None


class Summary(msgspec.Struct, tag_field="type", tag="summary_text", forbid_unknown_fields=True):
    text: str


class Item(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Any item of the input; its type decides which fields belong together."""

    type: Literal["message", "function_call", "function_call_output", "reasoning"] = "message"
    role: Literal["user", "assistant", "system", "developer"] | None = None
    content: str | list[InputText | InputImage | InputFile] | None = None
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    output: str | None = None
    summary: list[Summary] | None = None
    encrypted_content: str | None = None


class ToolSpec(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["function"]
    name: str
    # Any: a JSON schema.
    parameters: dict[str, Any]
    strict: bool
    description: str | None = None


class NamedTool(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["function"]
    name: str


class Reasoning(msgspec.Struct, forbid_unknown_fields=True):
    effort: Effort | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None


class AnyObject(msgspec.Struct, tag_field="type", tag="json_object", forbid_unknown_fields=True):
    pass


class Format(msgspec.Struct, tag_field="type", tag="json_schema", forbid_unknown_fields=True):
    name: str
    # Any: a JSON schema.
    schema: dict[str, Any]
    strict: bool = False


class TextOptions(msgspec.Struct, forbid_unknown_fields=True):
    format: Format | AnyObject | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ResponsesRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The body of a Responses call."""

    model: str
    input: list[Item]
    instructions: str | None = None
    stream: bool = False
    store: bool = True
    include: list[Literal["reasoning.encrypted_content", "message.output_text.logprobs"]] | None = (
        None
    )
    tools: list[ToolSpec] | None = None
    tool_choice: Literal["auto", "none", "required"] | NamedTool | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning: Reasoning | None = None
    text: TextOptions | None = None
    top_logprobs: int | None = None
    parallel_tool_calls: bool | None = None


_FIELDS = {
    "message": {"role", "content"},
    "function_call": {"call_id", "name", "arguments"},
    "function_call_output": {"call_id", "output"},
    "reasoning": {"id", "summary", "encrypted_content"},
}
# Sealed reasoning may come without the id under which it was sealed.
_OPTIONAL = {"encrypted_content", "id"}
_decode = msgspec.json.Decoder(ResponsesRequest).decode


def read_request(body: bytes) -> ResponsesRequest:
    """Return the request in `body`; raise `ShapeError` if the real service would refuse it."""
    try:
        request = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ShapeError(str(error)) from error
    if not request.model or not request.input:
        raise ShapeError("Missing required parameter: 'model' or 'input'.")
    limit = request.max_output_tokens
    if limit is not None and limit < _LEAST_OUTPUT_TOKENS:
        raise ShapeError("Invalid 'max_output_tokens': integer below minimum value of 16.")
    if request.tool_choice is not None and not request.tools:
        raise ShapeError("Tool choice is only allowed when 'tools' are given.")
    for tool in request.tools or ():
        if not _TOOL_NAME.match(tool.name) or tool.parameters.get("type") != "object":
            raise ShapeError(f"Invalid schema for function '{tool.name}'.")
    _check_items(request.input)
    return request


def _check_items(items: list[Item]) -> None:
    open_calls: set[str] = set()
    for index, item in enumerate(items):
        _check_fields(item, index)
        if item.type == "function_call":
            open_calls.add(item.call_id or "")
        elif item.type == "function_call_output":
            if item.call_id not in open_calls:
                raise ShapeError(f"No tool call found for function call output {item.call_id}.")
            open_calls.discard(item.call_id)
        elif item.type == "message":
            _check_content(item, index)
    if open_calls:
        raise ShapeError(f"No tool output found for function call {sorted(open_calls)[0]}.")


def _check_fields(item: Item, index: int) -> None:
    given = set(msgspec.to_builtins(item)) - {"type"}
    if given - _FIELDS[item.type] or not _FIELDS[item.type] - _OPTIONAL <= given:
        raise ShapeError(f"Invalid 'input[{index}]': {item.type} with {sorted(given)}.")


def _check_content(item: Item, index: int) -> None:
    if isinstance(item.content, str):
        return
    if item.role == "assistant":
        raise ShapeError(f"Invalid 'input[{index}].content': expected output_text or a string.")
    for part in item.content or ():
        if isinstance(part, InputImage) and not part.image_url.startswith(_IMAGE_SCHEMES):
            raise ShapeError(f"Invalid 'input[{index}].content': no image address.")
