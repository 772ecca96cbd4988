"""The body of a chat-completions request: only shapes, no meaning.

Unsupported fields have their shape here, too: `chat_in` refuses them by name. A `Raw` field is
empty if it was not sent; msgspec allows no other type beside it.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw

from hermes.server.v1.wire_body import OutputTokens

MAX_MESSAGES = 10_000
MAX_TOOLS = 128
MAX_CHOICES = 8
MAX_BIASES = 1024

Penalty = Annotated[float, Meta(ge=-2, le=2)]
Biases = Annotated[dict[str, Annotated[float, Meta(ge=-100, le=100)]], Meta(max_length=MAX_BIASES)]
Seed = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
ToolName = Annotated[str, Meta(min_length=1, max_length=128)]


class Text(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A piece of text; the two marks are two services' ways to request caching."""

    text: str
    cache_control: Raw = msgspec.field(default_factory=Raw)
    prompt_cache_breakpoint: Raw = msgspec.field(default_factory=Raw)


class ImageUrl(msgspec.Struct, frozen=True):
    """Where a picture is: an address, or the picture itself as a data URL."""

    url: str
    detail: str | None = None


class Image(msgspec.Struct, frozen=True, tag_field="type", tag="image_url"):
    """A picture."""

    image_url: ImageUrl
    cache_control: Raw = msgspec.field(default_factory=Raw)
    prompt_cache_breakpoint: Raw = msgspec.field(default_factory=Raw)


class Sound(msgspec.Struct, frozen=True):
    """The bytes of a sound in base64, and their format."""

    data: str
    format: str


class Audio(msgspec.Struct, frozen=True, tag_field="type", tag="input_audio"):
    """A sound."""

    input_audio: Sound
    prompt_cache_breakpoint: Raw = msgspec.field(default_factory=Raw)


class FileData(msgspec.Struct, frozen=True):
    """The bytes of a document as a data URL, or its id at a service."""

    file_data: str | None = None
    filename: Annotated[str, Meta(max_length=256)] | None = None
    file_id: str | None = None


class File(msgspec.Struct, frozen=True, tag_field="type", tag="file"):
    """A document."""

    file: FileData
    prompt_cache_breakpoint: Raw = msgspec.field(default_factory=Raw)


class Refusal(msgspec.Struct, frozen=True, tag_field="type", tag="refusal"):
    """The model's refusal instead of an answer."""

    refusal: str


class Function(msgspec.Struct, frozen=True):
    """What a tool call calls; the arguments are the model's own text."""

    name: ToolName
    arguments: str = ""


class ToolCall(msgspec.Struct, frozen=True, tag_field="type", tag="function"):
    """A call that the model made."""

    id: Annotated[str, Meta(min_length=1)]
    function: Function


class CustomToolCall(msgspec.Struct, frozen=True, tag_field="type", tag="custom"):
    """A call of a tool that takes free text."""


class SystemMessage(msgspec.Struct, frozen=True, tag_field="role", tag="system"):
    """Instructions."""

    content: str | list[Text]
    name: str | None = None
    cache_control: Raw = msgspec.field(default_factory=Raw)


class DeveloperMessage(msgspec.Struct, frozen=True, tag_field="role", tag="developer"):
    """Instructions, by the name that newer models have for them."""

    content: str | list[Text]
    name: str | None = None
    cache_control: Raw = msgspec.field(default_factory=Raw)


class UserMessage(msgspec.Struct, frozen=True, tag_field="role", tag="user"):
    """The person's text and pictures."""

    content: str | list[Text | Image | Audio | File]
    name: str | None = None
    cache_control: Raw = msgspec.field(default_factory=Raw)


class AssistantMessage(msgspec.Struct, frozen=True, tag_field="role", tag="assistant"):
    """The model's text, reasoning and tool calls."""

    content: str | list[Text | Refusal] | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall | CustomToolCall] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    # Any: service-specific objects, which are sent back to the service.
    reasoning_details: list[dict[str, Any]] | None = None
    name: str | None = None
    cache_control: Raw = msgspec.field(default_factory=Raw)
    audio: Raw = msgspec.field(default_factory=Raw)
    function_call: Raw = msgspec.field(default_factory=Raw)


class ToolMessage(msgspec.Struct, frozen=True, tag_field="role", tag="tool"):
    """What a tool answered."""

    tool_call_id: str
    content: str | list[Text]
    name: str | None = None
    cache_control: Raw = msgspec.field(default_factory=Raw)


class FunctionMessage(msgspec.Struct, frozen=True, tag_field="role", tag="function"):
    """The result of a function call (the API before tools)."""


Message = (
    SystemMessage
    | DeveloperMessage
    | UserMessage
    | AssistantMessage
    | ToolMessage
    | FunctionMessage
)


class FunctionSpec(msgspec.Struct, frozen=True):
    """A function that the model may call."""

    name: ToolName
    description: str | None = None
    parameters: Raw = msgspec.field(default_factory=Raw)
    strict: bool | None = None


class Tool(msgspec.Struct, frozen=True, tag_field="type", tag="function"):
    """A tool of the caller's."""

    function: FunctionSpec
    cache_control: Raw = msgspec.field(default_factory=Raw)


class CustomTool(msgspec.Struct, frozen=True, tag_field="type", tag="custom"):
    """A tool that takes free text."""


class NamedTool(msgspec.Struct, frozen=True):
    """A tool by its name."""

    name: str


class FunctionChoice(msgspec.Struct, frozen=True, tag_field="type", tag="function"):
    """Exactly this tool."""

    function: NamedTool


class AllowedTool(msgspec.Struct, frozen=True, tag_field="type", tag="function"):
    """A tool that is allowed for this request."""

    function: NamedTool


class AllowedTools(msgspec.Struct, frozen=True):
    """Which tools are allowed for this request, and whether one of them must be used."""

    mode: Literal["auto", "required"]
    tools: list[AllowedTool]


class AllowedChoice(msgspec.Struct, frozen=True, tag_field="type", tag="allowed_tools"):
    """Some of the tools."""

    allowed_tools: AllowedTools


class CustomChoice(msgspec.Struct, frozen=True, tag_field="type", tag="custom"):
    """A tool that takes free text."""


Choice = Literal["auto", "none", "required"] | FunctionChoice | AllowedChoice | CustomChoice


class TextFormat(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """An answer in plain text."""


class ObjectFormat(msgspec.Struct, frozen=True, tag_field="type", tag="json_object"):
    """An answer that is any JSON object."""


class JsonSchema(msgspec.Struct, frozen=True):
    """A schema for the answer."""

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    schema: Raw = msgspec.field(default_factory=Raw)
    strict: bool | None = None
    description: str | None = None


class SchemaFormat(msgspec.Struct, frozen=True, tag_field="type", tag="json_schema"):
    """An answer that fits a schema."""

    json_schema: JsonSchema


class Prediction(msgspec.Struct, frozen=True, tag_field="type", tag="content"):
    """Text that much of the answer is expected to repeat."""

    content: str | list[Text]


class StreamOptions(msgspec.Struct, frozen=True):
    """What a stream reports besides the answer."""

    include_usage: bool | None = None


class ChatBody(msgspec.Struct, frozen=True, kw_only=True):
    """A request; fields that this struct lacks have no effect."""

    model: Annotated[str, Meta(min_length=1, max_length=256)]
    messages: Annotated[list[Message], Meta(min_length=1, max_length=MAX_MESSAGES)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_completion_tokens: OutputTokens | None = None
    max_tokens: OutputTokens | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    stop: str | Annotated[list[str], Meta(max_length=16)] | None = None
    tools: Annotated[list[Tool | CustomTool], Meta(max_length=MAX_TOOLS)] | None = None
    tool_choice: Choice | None = None
    parallel_tool_calls: bool | None = None
    response_format: TextFormat | ObjectFormat | SchemaFormat | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = (
        None
    )
    n: Annotated[int, Meta(ge=1, le=MAX_CHOICES)] | None = None
    seed: Seed | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    logit_bias: Biases | None = None
    frequency_penalty: Penalty | None = None
    presence_penalty: Penalty | None = None
    # Not OpenAI's own fields: other services of this wire have them.
    top_k: Annotated[int, Meta(ge=-1, le=100_000)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    prediction: Prediction | None = None
    modalities: list[str] | None = None
    audio: Raw = msgspec.field(default_factory=Raw)
    web_search_options: Raw = msgspec.field(default_factory=Raw)
    moderation: Raw = msgspec.field(default_factory=Raw)
    functions: list[Raw] | None = None
    function_call: Raw = msgspec.field(default_factory=Raw)
