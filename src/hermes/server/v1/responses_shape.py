"""The body of a Responses request: only shapes, no meaning.

Input items and tools stay raw: an item may omit its type, and clients send types newer than any
list. `decode_at` decodes one and names the place of an error. An empty `Raw` field was not sent.
"""

from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Raw

from hermes.errors import BadRequest
from hermes.server.v1.wire_body import OutputTokens

MAX_ITEMS = 10_000
MAX_TOOLS = 128
MAX_QUOTE = 80

T = TypeVar("T")
Name = Annotated[str, Meta(min_length=1, max_length=128)]
CallId = Annotated[str, Meta(min_length=1, max_length=512)]
Summary = Literal["auto", "concise", "detailed", "none"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class InputText(msgspec.Struct, frozen=True, tag_field="type", tag="input_text"):
    """Text for the model."""

    text: str


class OutputText(msgspec.Struct, frozen=True, tag_field="type", tag="output_text"):
    """Text of the model."""

    text: str


class PlainText(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """Text, under the name that other wires use."""

    text: str


class Refusal(msgspec.Struct, frozen=True, tag_field="type", tag="refusal"):
    """The model's refusal instead of an answer."""

    refusal: str


class InputImage(msgspec.Struct, frozen=True, tag_field="type", tag="input_image"):
    """A picture: an address, the picture itself as a data URL, or a file kept at the service."""

    image_url: str | None = None
    file_id: str | None = None
    detail: str | None = None


class InputFile(msgspec.Struct, frozen=True, tag_field="type", tag="input_file"):
    """A document: its bytes as a data URL, its address, or its id at a service."""

    file_data: str | None = None
    file_url: str | None = None
    file_id: str | None = None
    filename: Annotated[str, Meta(max_length=256)] | None = None
    detail: str | None = None


class Sound(msgspec.Struct, frozen=True):
    """The bytes of a sound in base64, and their format."""

    data: str
    format: str


class InputAudio(msgspec.Struct, frozen=True, tag_field="type", tag="input_audio"):
    """A sound."""

    input_audio: Sound


Content = InputText | OutputText | PlainText | Refusal | InputImage | InputFile | InputAudio


class Head(msgspec.Struct, frozen=True):
    """The fields that identify an item's type: only messages may omit the type."""

    type: str | None = None
    role: str | None = None


class Message(msgspec.Struct, frozen=True):
    """A message of any role."""

    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[Content]
    phase: str | None = None


class SummaryText(msgspec.Struct, frozen=True):
    """A piece of a reasoning summary."""

    text: str = ""


class Reasoning(msgspec.Struct, frozen=True):
    """The model's reasoning; only its service can read the encrypted part."""

    id: str | None = None
    summary: list[SummaryText] | None = None
    encrypted_content: str | None = None


class FunctionCall(msgspec.Struct, frozen=True):
    """A call of a function; the arguments are the model's own text."""

    call_id: CallId
    name: Name
    arguments: str = ""
    namespace: str | None = None


class CustomCall(msgspec.Struct, frozen=True):
    """A call of a tool that takes free text."""

    call_id: CallId
    name: Name
    input: str = ""
    namespace: str | None = None


class ShellAction(msgspec.Struct, frozen=True, omit_defaults=True):
    """A command: the program and its arguments, its folder and its time limit."""

    command: list[str]
    working_directory: str | None = None
    timeout_ms: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    env: dict[str, str] | None = None
    user: str | None = None


class ShellCall(msgspec.Struct, frozen=True):
    """A command that the client runs in its shell."""

    action: ShellAction
    call_id: CallId | None = None
    id: str | None = None


class SearchCall(msgspec.Struct, frozen=True):
    """A search for tools that the client runs."""

    arguments: Raw
    call_id: CallId | None = None
    id: str | None = None


class CallOutput(msgspec.Struct, frozen=True):
    """What a tool answered."""

    output: str | list[Content]
    call_id: CallId | None = None
    id: str | None = None


class SearchOutput(msgspec.Struct, frozen=True):
    """The tools that a search has found."""

    tools: list[Raw]
    call_id: CallId | None = None
    id: str | None = None


class MoreTools(msgspec.Struct, frozen=True):
    """Tools listed inside the conversation."""

    tools: list[Raw]


class ToolHead(msgspec.Struct, frozen=True):
    """The field that identifies a tool's type."""

    type: str
    external_web_access: bool | None = None


class FunctionTool(msgspec.Struct, frozen=True):
    """A function that the model may call."""

    name: Name
    description: str | None = None
    parameters: Raw = msgspec.field(default_factory=Raw)
    strict: bool | None = None


class Grammar(msgspec.Struct, frozen=True):
    """The grammar that the text for a custom tool must match."""

    type: Literal["text", "grammar"] = "text"
    syntax: str | None = None
    definition: str | None = None


class CustomTool(msgspec.Struct, frozen=True):
    """A tool that takes free text."""

    name: Name
    description: str | None = None
    format: Grammar | None = None


class Namespace(msgspec.Struct, frozen=True):
    """A group of tools."""

    name: Name
    tools: list[Raw]
    description: str | None = None


class SearchTool(msgspec.Struct, frozen=True):
    """The tool search, run by the service or by the client."""

    execution: str | None = None
    description: str | None = None
    parameters: Raw = msgspec.field(default_factory=Raw)


class NamedTool(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool by its name."""

    type: str
    name: str | None = None


class Choice(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tool, or the tools that are allowed for this request."""

    type: str
    name: str | None = None
    mode: Literal["auto", "required"] | None = None
    tools: list[NamedTool] | None = None


class TextFormat(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """An answer in plain text."""


class ObjectFormat(msgspec.Struct, frozen=True, tag_field="type", tag="json_object"):
    """An answer that is any JSON object."""


class SchemaFormat(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="json_schema"
):
    """An answer that fits a schema."""

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    schema: Raw
    strict: bool | None = None
    description: str | None = None


class TextConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """The format of the answer's text."""

    format: TextFormat | ObjectFormat | SchemaFormat | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ReasoningConfig(msgspec.Struct, frozen=True):
    """How much the model should think, and what of it is returned."""

    effort: Effort | None = None
    summary: Summary | None = None
    generate_summary: Summary | None = None
    context: str | None = None
    mode: str | None = None


class ResponsesBody(msgspec.Struct, frozen=True, kw_only=True):
    """A request; fields that this struct lacks have no effect."""

    model: Annotated[str, Meta(min_length=1, max_length=256)]
    input: str | Annotated[list[Raw], Meta(max_length=MAX_ITEMS)] | None = None
    instructions: str | None = None
    stream: bool | None = None
    max_output_tokens: OutputTokens | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    tools: Annotated[list[Raw], Meta(max_length=MAX_TOOLS)] | None = None
    tool_choice: Literal["auto", "none", "required"] | Choice | None = None
    parallel_tool_calls: bool | None = None
    reasoning: ReasoningConfig | None = None
    text: TextConfig | None = None
    include: list[str] | None = None
    store: bool | None = None
    truncation: Literal["auto", "disabled"] | None = None
    metadata: dict[str, str] | None = None
    prompt_cache_key: str | None = None
    safety_identifier: str | None = None
    user: str | None = None
    background: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    previous_response_id: str | None = None
    conversation: Raw = msgspec.field(default_factory=Raw)
    prompt: Raw = msgspec.field(default_factory=Raw)
    moderation: Raw = msgspec.field(default_factory=Raw)


def decode_at(decode: Callable[[Raw], T], raw: Raw, *, where: str) -> T:
    """Decode `raw`; `where` names its place in the body for errors."""
    try:
        return decode(raw)
    except msgspec.ValidationError as problem:
        fault, _, path = str(problem).rpartition(" - at `$")
        place = where + path.removesuffix("`") if fault else where
        raise BadRequest(f"{place}: {(fault or path)[:MAX_QUOTE]}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise BadRequest(f"{where}: not valid JSON; {str(problem)[:MAX_QUOTE]}.") from None
    except RecursionError:
        raise BadRequest(f"{where}: nested too deeply; send something flatter.") from None
