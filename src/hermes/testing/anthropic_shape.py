"""What Anthropic's Messages API accepts, checked as strictly as the real service does.

Pure: bytes in, a typed request or a refusal with the service's text out. It knows nothing about how
Hermes builds its requests.
"""

import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from hermes.testing.anthropic_options import check_options

_TOOL_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_PLACE = re.compile(r" - at `\$\.?([^`]*)`$")
_MOST_MARKS = 4


class ShapeError(Exception):
    """The request would be refused with 400."""


class Mark(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] = "5m"


class Base64Source(msgspec.Struct, tag_field="type", tag="base64", forbid_unknown_fields=True):
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    data: str


class UrlSource(msgspec.Struct, tag_field="type", tag="url", forbid_unknown_fields=True):
    url: str


class _Block(msgspec.Struct, tag_field="type", forbid_unknown_fields=True, kw_only=True):
    cache_control: Mark | None = None


class Text(_Block, tag="text"):
    text: str


class Image(_Block, tag="image"):
    source: Base64Source | UrlSource


class PdfSource(msgspec.Struct, tag_field="type", tag="base64", forbid_unknown_fields=True):
    media_type: Literal["application/pdf"]
    data: str


class Document(_Block, tag="document"):
    source: PdfSource | UrlSource
    title: str | None = None


class ToolUse(_Block, tag="tool_use"):
    id: str
    name: str
    # Any: the input of any tool.
    input: dict[str, Any]


class ToolResult(_Block, tag="tool_result"):
    tool_use_id: str
    content: str | list[Text | Image] = ""
    is_error: bool = False


class Thinking(msgspec.Struct, tag_field="type", tag="thinking", forbid_unknown_fields=True):
    thinking: str
    signature: str


class RedactedThinking(
    msgspec.Struct, tag_field="type", tag="redacted_thinking", forbid_unknown_fields=True
):
    data: str


UserBlock = Text | Image | Document | ToolResult
AssistantBlock = Text | ToolUse | Thinking | RedactedThinking


class User(msgspec.Struct, tag_field="role", tag="user", forbid_unknown_fields=True):
    content: str | list[UserBlock]


class Assistant(msgspec.Struct, tag_field="role", tag="assistant", forbid_unknown_fields=True):
    content: str | list[AssistantBlock]


Message = User | Assistant


class ToolSpec(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    name: str
    # Any: a JSON schema.
    input_schema: dict[str, Any]
    description: str = ""
    type: Literal["custom"] = "custom"
    strict: bool = False
    cache_control: Mark | None = None


class MessagesRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The body of a Messages call."""

    model: str
    max_tokens: int
    messages: list[Message]
    stream: bool = False
    system: str | list[Text] = ""
    tools: list[ToolSpec] = []
    # Any: small objects, checked by `check_options`.
    tool_choice: dict[str, Any] | None = None
    stop_sequences: list[str] = []
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    thinking: dict[str, Any] | None = None
    output_config: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(MessagesRequest).decode


def read_request(body: bytes) -> MessagesRequest:
    """Return the request in `body`; raise `ShapeError` if the real service would refuse it."""
    try:
        request = _decode(body)
    except msgspec.ValidationError as error:
        text = str(error)
        place = _PLACE.search(text)
        raise ShapeError(f"{place[1]}: {text[: place.start()]}" if place else text) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ShapeError("The request body is not valid JSON.") from error
    refusal = check_options(request)
    if refusal is not None:
        raise ShapeError(refusal)
    _check_messages(request.messages)
    _check_texts(request.system, "system")
    _check_marks(request)
    return request


def text_of(content: str | Sequence[UserBlock | AssistantBlock]) -> str:
    """Return the plain text of a message's content."""
    if isinstance(content, str):
        return content
    return "".join(block.text for block in content if isinstance(block, Text))


def results_of(message: Message) -> list[ToolResult]:
    """Return the tool results in a message."""
    if isinstance(message.content, str):
        return []
    return [block for block in message.content if isinstance(block, ToolResult)]


def _check_messages(messages: list[Message]) -> None:
    if not messages:
        raise ShapeError("messages: at least one message is required")
    if not isinstance(messages[0], User):
        raise ShapeError('messages: first message must use the "user" role')
    known: set[str] = set()
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        place = f"messages.{index}"
        if not message.content:
            raise ShapeError(f"{place}: all messages must have non-empty content")
        _check_texts(message.content, "messages")
        _check_results(message, waiting, place=place)
        waiting = _calls_of(message, known)
    if waiting:
        raise ShapeError(_unanswered(f"messages.{len(messages) - 1}", waiting))
    _check_last(messages[-1])


def _check_results(message: Message, waiting: set[str], *, place: str) -> None:
    answered: set[str] = set()
    others = False
    for block in message.content if isinstance(message.content, list) else ():
        if not isinstance(block, ToolResult):
            others = True
            continue
        if block.tool_use_id not in waiting - answered or others:
            raise ShapeError(
                f"{place}: unexpected `tool_use_id` found in `tool_result` blocks:"
                f" {block.tool_use_id}. Each `tool_result` block must have a corresponding"
                " `tool_use` block in the previous message."
            )
        if block.is_error and not block.content:
            raise ShapeError(f"{place}: content cannot be empty if `is_error` is true")
        answered.add(block.tool_use_id)
    if waiting - answered:
        raise ShapeError(_unanswered(place, waiting - answered))


def _unanswered(place: str, missing: set[str]) -> str:
    return (
        f"{place}: `tool_use` ids were found without `tool_result` blocks immediately after:"
        f" {', '.join(sorted(missing))}. Each `tool_use` block must have a corresponding"
        " `tool_result` block in the next message."
    )


def _calls_of(message: Message, known: set[str]) -> set[str]:
    ids: set[str] = set()
    for block in message.content if isinstance(message.content, list) else ():
        if isinstance(block, Thinking) and not block.signature:
            raise ShapeError("messages: thinking.signature: Field required")
        if not isinstance(block, ToolUse):
            continue
        if not _TOOL_ID.match(block.id):
            raise ShapeError(f"tool_use.id: {block.id} should match pattern '{_TOOL_ID.pattern}'")
        if block.id in known:
            raise ShapeError("messages: `tool_use` ids must be unique")
        known.add(block.id)
        ids.add(block.id)
    return ids


def _check_texts(content: str | Sequence[UserBlock | AssistantBlock], place: str) -> None:
    if isinstance(content, str):
        return
    for block in content:
        if isinstance(block, Text) and not block.text:
            raise ShapeError(f"{place}: text content blocks must be non-empty")
        if isinstance(block, Text) and not block.text.strip():
            raise ShapeError(f"{place}: text content blocks must contain non-whitespace text")


def _check_last(message: Message) -> None:
    text = text_of(message.content)
    if isinstance(message, Assistant) and text != text.rstrip():
        raise ShapeError("messages: final assistant content cannot end with trailing whitespace")


def _check_marks(request: MessagesRequest) -> None:
    blocks: list[object] = [*request.tools]
    if isinstance(request.system, list):
        blocks.extend(request.system)
    for message in request.messages:
        if isinstance(message.content, list):
            blocks.extend(message.content)
    marks = sum(getattr(block, "cache_control", None) is not None for block in blocks)
    if marks > _MOST_MARKS:
        raise ShapeError(
            f"A maximum of {_MOST_MARKS} blocks with cache_control may be provided. Found {marks}."
        )
