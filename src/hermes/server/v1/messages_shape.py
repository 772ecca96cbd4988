"""The body of a Messages request: only shapes, no meaning.

Unsupported fields have their shape here, too: `messages_in` refuses them by name.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw

from hermes.server.v1.wire_body import OutputTokens

MAX_MESSAGES = 10_000
MAX_TOOLS = 128

ToolName = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_-]{1,128}\Z")]
Share = Annotated[float, Meta(ge=0, le=1)]


class CacheControl(msgspec.Struct, frozen=True):
    """A cache mark: the service's prompt cache may store everything before it."""

    type: str = "ephemeral"


Mark = CacheControl | None
# Any: only its presence matters.
Anything = Any


class Shape(msgspec.Struct, frozen=True, tag_field="type"):
    """Anything with a `type` field that says what it is."""


class Text(Shape, frozen=True, tag="text"):
    """A piece of text."""

    text: str
    cache_control: Mark = None


class Base64Source(Shape, frozen=True, tag="base64"):
    """Bytes inside the request."""

    media_type: str
    data: str


class UrlSource(Shape, frozen=True, tag="url"):
    """Bytes at an address."""

    url: str


class FileSource(Shape, frozen=True, tag="file"):
    """Bytes that were uploaded to a service earlier."""


class TextSource(Shape, frozen=True, tag="text"):
    """A document that is plain text."""

    data: str


class Image(Shape, frozen=True, tag="image"):
    """A picture."""

    source: Base64Source | UrlSource | FileSource
    transformations: Anything = None
    cache_control: Mark = None


class ContentSource(Shape, frozen=True, tag="content"):
    """A document that consists of blocks."""

    content: str | list[Text | Image]


class Citations(msgspec.Struct, frozen=True):
    """Whether the answer should cite its sources."""

    enabled: bool | None = None


class Document(Shape, frozen=True, tag="document"):
    """A document; not every model can read other documents than text."""

    source: TextSource | ContentSource | Base64Source | UrlSource | FileSource
    title: str | None = None
    context: str | None = None
    citations: Citations | None = None
    cache_control: Mark = None


class SearchResult(Shape, frozen=True, tag="search_result"):
    """A search result with its source."""

    source: str
    title: str
    content: list[Text]
    citations: Citations | None = None
    cache_control: Mark = None


class ToolReference(Shape, frozen=True, tag="tool_reference"):
    """A tool that a tool search has found."""

    tool_name: str
    cache_control: Mark = None


class ToolUse(Shape, frozen=True, tag="tool_use"):
    """A call that the model made; its input stays unparsed text."""

    id: str
    name: str
    input: Raw
    cache_control: Mark = None


ResultBlock = Text | Image | Document | SearchResult | ToolReference


class ToolResult(Shape, frozen=True, tag="tool_result"):
    """What a tool answered."""

    tool_use_id: str
    content: str | list[ResultBlock] | None = None
    is_error: bool | None = None
    cache_control: Mark = None


class Thinking(Shape, frozen=True, tag="thinking"):
    """The model's reasoning, with the service's signature."""

    thinking: str
    signature: str = ""


class RedactedThinking(Shape, frozen=True, tag="redacted_thinking"):
    """Reasoning that only its service can read."""

    data: str


Block = Text | Image | Document | SearchResult | ToolUse | ToolResult | Thinking | RedactedThinking


class Message(msgspec.Struct, frozen=True):
    """One message of the conversation."""

    role: Literal["user", "assistant", "system"]
    content: str | list[Block]


class Tool(msgspec.Struct, frozen=True):
    """A tool; a type other than `custom` means a tool that the service provides."""

    name: str = ""
    type: str | None = None
    description: str | None = None
    input_schema: Raw = msgspec.field(default_factory=Raw)
    cache_control: Mark = None
    strict: bool | None = None
    defer_loading: bool | None = None
    allowed_callers: Anything = None
    input_examples: Anything = None


class ChosenTool(msgspec.Struct, frozen=True):
    """Whether tools may, must or must not be used."""

    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class ThinkingConfig(msgspec.Struct, frozen=True):
    """Whether the model should think before it answers, and how much."""

    type: Literal["enabled", "adaptive", "between_tools", "disabled"]
    budget_tokens: OutputTokens | None = None
    display: str | None = None


class JsonFormat(msgspec.Struct, frozen=True):
    """The JSON schema that the answer must fit."""

    type: Literal["json_schema"]
    schema: Raw


class OutputConfig(msgspec.Struct, frozen=True):
    """How the answer is made."""

    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: JsonFormat | None = None
    task_budget: Anything = None


class MessagesBody(msgspec.Struct, frozen=True, kw_only=True):
    """A whole request; `max_tokens` is optional only where tokens are counted."""

    model: Annotated[str, Meta(min_length=1, max_length=256)]
    messages: Annotated[list[Message], Meta(min_length=1, max_length=MAX_MESSAGES)]
    max_tokens: OutputTokens | None = None
    system: str | list[Text] | None = None
    tools: Annotated[list[Tool], Meta(max_length=MAX_TOOLS)] | None = None
    tool_choice: ChosenTool | None = None
    thinking: ThinkingConfig | None = None
    output_config: OutputConfig | None = None
    output_format: JsonFormat | None = None
    stop_sequences: list[str] | None = None
    temperature: Share | None = None
    top_p: Share | None = None
    stream: bool | None = None
    cache_control: Mark = None
    top_k: Annotated[int, Meta(ge=0, le=100_000)] | None = None
    # Fields that cannot be honoured.
    container: Anything = None
    mcp_servers: list[Anything] | None = None
    inference_geo: str | None = None
