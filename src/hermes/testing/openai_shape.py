"""What OpenAI's chat completions accept, checked as strictly as the real service does.

Pure: bytes in, a typed request or an OpenAI-shaped refusal out.
"""

import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

_TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
_PLACE = re.compile(r" - at `\$\.?([^`]*)`$")
_MOST_STOPS = 4
_IMAGE_SCHEMES = ("http://", "https://", "data:image/")

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class ShapeError(Exception):
    """The request would be refused; `param` names the field as OpenAI does."""

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.code = code


class Text(msgspec.Struct, tag_field="type", tag="text", forbid_unknown_fields=True):
    text: str


class ImageUrl(msgspec.Struct, forbid_unknown_fields=True):
    url: str
    detail: Literal["auto", "low", "high"] = "auto"


class Image(msgspec.Struct, tag_field="type", tag="image_url", forbid_unknown_fields=True):
    image_url: ImageUrl


class Sound(msgspec.Struct, forbid_unknown_fields=True):
    data: str
    format: Literal["wav", "mp3"]


class Audio(msgspec.Struct, tag_field="type", tag="input_audio", forbid_unknown_fields=True):
    input_audio: Sound


class FileData(msgspec.Struct, forbid_unknown_fields=True):
    filename: str
    file_data: str


class File(msgspec.Struct, tag_field="type", tag="file", forbid_unknown_fields=True):
    file: FileData


class Function(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: str


class ToolCall(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    type: Literal["function"]
    function: Function


class _Message(msgspec.Struct, tag_field="role", forbid_unknown_fields=True, kw_only=True):
    name: str | None = None


class System(_Message, tag="system"):
    content: str | list[Text]


class Developer(_Message, tag="developer"):
    content: str | list[Text]


class User(_Message, tag="user"):
    content: str | list[Text | Image | Audio | File]


class Assistant(_Message, tag="assistant"):
    content: str | list[Text] | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None


class Tool(_Message, tag="tool"):
    tool_call_id: str
    content: str | list[Text]


Message = System | Developer | User | Assistant | Tool


class FunctionSpec(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    description: str | None = None
    # Any: a JSON schema.
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ToolSpec(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["function"]
    function: FunctionSpec


class FunctionName(msgspec.Struct, forbid_unknown_fields=True):
    name: str


class NamedTool(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["function"]
    function: FunctionName


class JsonSchema(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    # Any: a JSON schema.
    schema: dict[str, Any] | None = None
    description: str | None = None
    strict: bool | None = None


class ResponseFormat(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


class StreamOptions(msgspec.Struct, forbid_unknown_fields=True):
    include_usage: bool = False


class Prediction(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["content"]
    content: str | list[Text]


class ChatRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The body of a chat-completions call."""

    model: str
    messages: list[Message]
    stream: bool = False
    stream_options: StreamOptions | None = None
    tools: list[ToolSpec] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedTool | None = None
    parallel_tool_calls: bool | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    n: Literal[1] = 1
    stop: str | list[str] | None = None
    seed: int | None = None
    user: str | None = None
    response_format: ResponseFormat | None = None
    reasoning_effort: Effort | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    prediction: Prediction | None = None


_decode = msgspec.json.Decoder(ChatRequest).decode


def read_request(body: bytes) -> ChatRequest:
    """Return the request in `body`; raise `ShapeError` if the real service would refuse it."""
    try:
        request = _decode(body)
    except msgspec.ValidationError as error:
        text = str(error)
        place = _PLACE.search(text)
        raise ShapeError(text, param=place[1] if place else None, code="invalid_value") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ShapeError("We could not parse the JSON body of your request.") from error
    _check_parameters(request)
    _check_options(request)
    _check_choice(request)
    _check_format(request.response_format)
    _check_json_word(request)
    _check_tools(request.tools)
    _check_conversation(request.messages)
    return request


def text_of(content: str | Sequence[Text | Image | Audio | File] | None) -> str:
    """Return the plain text of a message's content."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.text for part in content if isinstance(part, Text))


def _check_parameters(request: ChatRequest) -> None:
    if not request.model:
        raise ShapeError("you must provide a model parameter", param="model")
    if not request.messages:
        raise ShapeError("[] is too short - 'messages'", param="messages", code="empty_array")
    if request.stream_options is not None and not request.stream:
        raise ShapeError(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            param="stream_options",
        )
    if request.temperature is not None and not 0 <= request.temperature <= 2:
        raise ShapeError("temperature must be between 0 and 2", param="temperature")
    if request.top_p is not None and not 0 <= request.top_p <= 1:
        raise ShapeError("top_p must be between 0 and 1", param="top_p")
    if isinstance(request.stop, list) and not 1 <= len(request.stop) <= _MOST_STOPS:
        raise ShapeError(f"expected 1 to {_MOST_STOPS} stop sequences", param="stop")
    for name in ("max_tokens", "max_completion_tokens"):
        limit = getattr(request, name)
        if limit is not None and limit < 1:
            raise ShapeError(f"{name} must be at least 1", param=name)


def _check_options(request: ChatRequest) -> None:
    for name in ("frequency_penalty", "presence_penalty"):
        if not -2 <= (getattr(request, name) or 0) <= 2:
            raise ShapeError(f"{name} must be between -2 and 2", param=name)
    if request.top_logprobs is not None and not request.logprobs:
        raise ShapeError(
            "'top_logprobs' is only allowed when 'logprobs' is set to True", param="top_logprobs"
        )


def _check_choice(request: ChatRequest) -> None:
    choice = request.tool_choice
    if choice is None:
        return
    if not request.tools:
        raise ShapeError(
            "'tool_choice' is only allowed when 'tools' are specified", param="tool_choice"
        )
    names = {tool.function.name for tool in request.tools}
    if isinstance(choice, NamedTool) and choice.function.name not in names:
        raise ShapeError(
            f"Tool choice '{choice.function.name}' not found in 'tools'.", param="tool_choice"
        )


def _check_format(wanted: ResponseFormat | None) -> None:
    if wanted is None or wanted.type != "json_schema":
        return
    schema = wanted.json_schema
    if schema is None or not _TOOL_NAME.match(schema.name):
        raise ShapeError(
            "Missing or invalid 'response_format.json_schema.name'.", param="response_format"
        )
    if schema.strict and (schema.schema or {}).get("additionalProperties") is not False:
        raise ShapeError(
            f"Invalid schema for response_format '{schema.name}': 'additionalProperties' is"
            " required to be supplied and to be false.",
            param="response_format",
            code="invalid_json_schema",
        )


def _check_json_word(request: ChatRequest) -> None:
    wanted = request.response_format
    if wanted is None or wanted.type != "json_object":
        return
    if not any("json" in text_of(one.content).lower() for one in request.messages):
        raise ShapeError(
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type"
            " 'json_object'.",
            param="messages",
        )


def _check_tools(tools: list[ToolSpec] | None) -> None:
    if tools is None:
        return
    if not tools:
        raise ShapeError("[] is too short - 'tools'", param="tools", code="empty_array")
    for index, tool in enumerate(tools):
        if not _TOOL_NAME.match(tool.function.name):
            raise ShapeError(
                f"Invalid 'tools[{index}].function.name': string does not match pattern.",
                param=f"tools[{index}].function.name",
                code="invalid_value",
            )
        schema = tool.function.parameters
        if tool.function.strict and (schema or {}).get("additionalProperties") is not False:
            raise ShapeError(
                f"Invalid schema for function '{tool.function.name}': 'additionalProperties' is"
                " required to be supplied and to be false.",
                param=f"tools[{index}].function.parameters",
                code="invalid_function_parameters",
            )
        if schema is not None and schema.get("type") != "object":
            raise ShapeError(
                f"Invalid schema for function '{tool.function.name}': schema must be a JSON Schema"
                " of 'type: \"object\"'.",
                param=f"tools[{index}].function.parameters",
                code="invalid_function_parameters",
            )


def _check_conversation(messages: list[Message]) -> None:
    open_calls: set[str] = set()
    for index, message in enumerate(messages):
        if isinstance(message, Tool):
            if message.tool_call_id not in open_calls:
                raise ShapeError(
                    "Invalid parameter: messages with role 'tool' must be a response to a"
                    " preceeding message with 'tool_calls'.",
                    param=f"messages.[{index}].role",
                )
            open_calls.discard(message.tool_call_id)
            continue
        _check_answered(open_calls, index)
        if isinstance(message, Assistant):
            open_calls = _calls_of(message, index)
        elif isinstance(message, User):
            _check_images(message, index)
    _check_answered(open_calls, len(messages))


def _check_answered(open_calls: set[str], index: int) -> None:
    if open_calls:
        missing = ", ".join(sorted(open_calls))
        raise ShapeError(
            "An assistant message with 'tool_calls' must be followed by tool messages responding"
            " to each 'tool_call_id'. The following tool_call_ids did not have response messages:"
            f" {missing}",
            param=f"messages.[{index}].role",
        )


def _calls_of(message: Assistant, index: int) -> set[str]:
    calls = message.tool_calls
    if calls is None:
        if message.content is None and message.refusal is None:
            raise ShapeError(
                "Invalid value for 'content': expected a string, got null.",
                param=f"messages.[{index}].content",
            )
        return set()
    if not calls:
        raise ShapeError(
            f"Invalid 'messages[{index}].tool_calls': empty array.",
            param=f"messages[{index}].tool_calls",
            code="empty_array",
        )
    ids = {call.id for call in calls}
    if len(ids) != len(calls) or "" in ids:
        raise ShapeError("Duplicate or empty tool call id.", param=f"messages[{index}].tool_calls")
    return ids


def _check_images(message: User, index: int) -> None:
    if isinstance(message.content, str):
        return
    if not message.content:
        raise ShapeError("[] is too short", param=f"messages[{index}].content", code="empty_array")
    for part in message.content:
        if isinstance(part, File) and not part.file.file_data.startswith("data:application/pdf;"):
            raise ShapeError("Invalid file data.", param=f"messages[{index}].content")
        if isinstance(part, Image) and not part.image_url.url.startswith(_IMAGE_SCHEMES):
            raise ShapeError(
                "Invalid image URL: expected http(s) or a base64 data URL of an image.",
                param=f"messages[{index}].content",
                code="invalid_image_url",
            )
