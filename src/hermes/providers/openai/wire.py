"""Converts a model request to chat-completions JSON: pure, no sockets, no files.

Every message keeps its role, every system block is its own message and every tool result its own
`tool` message.
"""

import base64
import hashlib
import re
from collections.abc import Iterator

import msgspec

from hermes.media.image_files import image_url
from hermes.message.chat import ChatMessage
from hermes.message.inline_file import UNNAMED_PDF, inline_file
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    text_of,
)
from hermes.ports.provider import ModelRequest
from hermes.provider_kit.request_json import (
    IMAGE_GONE,
    NO_VISION,
    Images,
    Json,
    part_text,
    with_known_detail,
)
from hermes.providers.openai.parameters import build_parameters
from hermes.providers.openai.presets import PLAIN, Quirks
from hermes.providers.openai.settings import OpenAISettings
from hermes.schema.unfinished_json import is_json

DIALECT = "openai"
_MARK = {"type": "ephemeral"}
# The fields of a reasoning detail that come in pieces.
_GROWING = ("text", "summary", "data")
_NINE = re.compile(r"^[a-zA-Z0-9]{9}$")


def build_body(request: ModelRequest, settings: OpenAISettings, *, images: Images) -> bytes:
    """Return the request's JSON; `images` maps the path of each image file to its data URL."""
    quirks, request = settings.rules, with_known_detail(request, settings)
    messages = build_messages(request, images=images, vision=settings.vision, quirks=quirks)
    if request.cache_prefix and quirks.cache_marks:
        _mark_prefix(messages)
    body: Json = {"model": request.model or settings.model, "messages": messages}
    body.update(build_parameters(request, settings))
    if request.prefill:
        _mark_prefill(body, quirks)
    return msgspec.json.encode(body)


def build_messages(
    request: ModelRequest, *, images: Images, vision: bool, quirks: Quirks = PLAIN
) -> list[Json]:
    """Return the stacked system blocks and the conversation as wire messages."""
    built = _system(request.system, together=quirks.one_system_message)
    for message in request.messages:
        parts, role = message.parts, message.role
        if len(parts) == 1 and type(part := parts[0]) is TextPart and role != "tool":
            # Nearly all of a long history: plain text has the same form in every role.
            built.append({"role": role, "content": part.text})
        else:
            built.extend(_wire_messages(message, images=images, vision=vision, quirks=quirks))
    return built


def _system(blocks: tuple[str, ...], *, together: bool) -> list[Json]:
    given = [block for block in blocks if block]
    if together and len(given) > 1:
        return [{"role": "system", "content": [_text(block) for block in given]}]
    return [{"role": "system", "content": block} for block in given]


def _wire_messages(
    message: ChatMessage, *, images: Images, vision: bool, quirks: Quirks
) -> Iterator[Json]:
    if message.role == "tool":
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                call_id = _call_id(part.call_id, quirks)
                yield {"role": "tool", "tool_call_id": call_id, "content": part.text}
    elif message.role == "assistant":
        yield _assistant(message, quirks)
    else:
        yield {
            "role": message.role,
            "content": _content(message.parts, images=images, vision=vision),
        }


def _assistant(message: ChatMessage, quirks: Quirks) -> Json:
    calls = [
        {
            "id": _call_id(part.id, quirks),
            "type": "function",
            "function": {"name": part.name, "arguments": part.arguments},
        }
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    text = text_of(message.parts)
    if not calls:
        return {"role": "assistant", "content": text}
    told: Json = {"role": "assistant", "content": text or None, "tool_calls": calls}
    return told | _reasoning_back(message.parts, quirks)


def _reasoning_back(parts: tuple[Part, ...], quirks: Quirks) -> Json:
    """Return the reasoning before tool calls in the field where the service wants it back."""
    field = quirks.reasoning_back
    if field is None:
        return {}
    kept = [part for part in parts if isinstance(part, ReasoningPart) and part.dialect == DIALECT]
    if field == "reasoning_content":
        # Sent even if empty: the services that want the field refuse a tool call without it.
        return {field: "".join(part.text for part in kept)}
    # Callers send these back: anything but one JSON value could break out of its field.
    sealed = [part.sealed for part in kept if part.sealed is not None and is_json(part.sealed)]
    return {field: _joined(sealed)} if sealed else {}


def join_detail(details: list[Json], more: Json) -> None:
    """Add a piece of `reasoning_details`; the pieces of one detail share their type and index."""
    last = details[-1] if details else None
    if last is None or any(last.get(key) != more.get(key) for key in ("type", "index")):
        details.append(dict(more))
        return
    for key, value in more.items():
        if key in _GROWING and isinstance(value, str):
            last[key] = (last.get(key) or "") + value
        elif value is not None:
            last[key] = value


def _joined(sealed: list[str]) -> msgspec.Raw | list[Json]:
    """Return the details of several thoughts as the one list that the service sent in pieces."""
    if len(sealed) == 1:
        return msgspec.Raw(sealed[0].encode())
    details: list[Json] = []
    for one in sealed:
        found = msgspec.json.decode(one)
        for detail in found if isinstance(found, list) else ():
            if isinstance(detail, dict):
                join_detail(details, detail)
    return details


def _call_id(call_id: str, quirks: Quirks) -> str:
    if quirks.tool_ids == "any" or _NINE.match(call_id):
        return call_id
    # The id may come from another service; the same id always becomes the same nine letters.
    digest = hashlib.sha256(call_id.encode()).digest()
    return base64.b32encode(digest).decode()[:9]


def _mark_prefix(messages: list[Json]) -> None:
    """Mark the end of the system blocks and the end of the conversation for the prompt cache."""
    systems = [message for message in messages if message["role"] == "system"]
    users = [message for message in messages if message["role"] == "user"]
    for message in (*systems[-1:], *users[-1:]):
        content = message["content"]
        blocks = [_text(content)] if isinstance(content, str) else list(content)
        blocks[-1] = {**blocks[-1], "cache_control": _MARK}
        message["content"] = blocks


def _mark_prefill(body: Json, quirks: Quirks) -> None:
    """Mark the last message for continuation, in the way of the service."""
    if quirks.prefill == "prefix":
        body["messages"][-1]["prefix"] = True
    elif quirks.prefill == "continue_final_message":
        body.update(continue_final_message=True, add_generation_prompt=False)


def _content(parts: tuple[Part, ...], *, images: Images, vision: bool) -> str | list[Json]:
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return parts[0].text
    blocks = [_block(part, images=images, vision=vision) for part in parts]
    if all(block["type"] == "text" for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return blocks


def _block(part: Part, *, images: Images, vision: bool) -> Json:
    if isinstance(part, ToolResultPart):
        return _text(part.text)
    if not isinstance(part, ImagePart):
        return _file(part) or _text(part_text(part))
    if not vision:
        return _text(NO_VISION)
    source = image_url(part.media, images)
    if source is None:
        return _text(IMAGE_GONE)
    detail: Json = {} if part.detail is None else {"detail": part.detail}
    return {"type": "image_url", "image_url": {"url": source, **detail}}


def _file(part: Part) -> Json | None:
    """Return a document or a sound that the request holds by value."""
    if not isinstance(part, FilePart | AudioPart):
        return None
    found = inline_file(part.media)
    if found is None:
        return None
    if isinstance(part, AudioPart):
        sound = {"data": found.data, "format": found.sound_format}
        return {"type": "input_audio", "input_audio": sound}
    name = part.media.name or UNNAMED_PDF
    return {"type": "file", "file": {"filename": name, "file_data": found.url}}


def _text(text: str) -> Json:
    return {"type": "text", "text": text}
