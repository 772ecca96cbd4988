"""A model request as chat-completions JSON: pure, no sockets, no files.

Turns stay turns: every message keeps its role, every system block is its own message and every
tool result its own `tool` message.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    text_of,
)
from hermes.ports.provider import ModelRequest, ToolSpec
from hermes.providers.openai.settings import OpenAISettings

# Any: JSON objects on their way to the encoder.
Json = dict[str, Any]
Images = Mapping[str, str]

_STREAM_OPTIONS = {"include_usage": True}
_NO_VISION = "[an image was attached; this model cannot see images]"
_GONE = "[an image was attached; it is no longer available]"


def build_body(request: ModelRequest, settings: OpenAISettings, *, images: Images) -> bytes:
    """Return the request's JSON; `images` maps the path of each image file to its data URL."""
    body: Json = {
        "model": request.model or settings.model,
        "messages": build_messages(request, images=images, vision=settings.vision),
        "stream": True,
        "stream_options": _STREAM_OPTIONS,
    }
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
    limit = _output_limit(request, settings)
    if limit is not None:
        name = "max_completion_tokens" if settings.names_completion_tokens else "max_tokens"
        body[name] = limit
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return msgspec.json.encode(body)


def build_messages(request: ModelRequest, *, images: Images, vision: bool) -> list[Json]:
    """Return the stacked system blocks and the conversation as wire messages."""
    built: list[Json] = [{"role": "system", "content": block} for block in request.system if block]
    for message in request.messages:
        parts = message.parts
        if len(parts) == 1 and isinstance(parts[0], TextPart) and message.role != "tool":
            # Nearly all of a long history: plain words look the same in every role.
            built.append({"role": message.role, "content": parts[0].text})
        else:
            built.extend(_wire_messages(message, images=images, vision=vision))
    return built


def image_files(request: ModelRequest) -> dict[str, str]:
    """Return the files of the images that the request shows, with their types."""
    return {
        part.media.path: part.media.mime
        for message in request.messages
        for part in message.parts
        if isinstance(part, ImagePart) and part.media.path is not None
    }


def _output_limit(request: ModelRequest, settings: OpenAISettings) -> int | None:
    limits = [n for n in (request.max_output_tokens, settings.max_output_tokens) if n is not None]
    return min(limits) if limits else None


def _tool(spec: ToolSpec) -> Json:
    return {
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters,
        },
    }


def _wire_messages(message: ChatMessage, *, images: Images, vision: bool) -> Iterator[Json]:
    if message.role == "tool":
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                yield {"role": "tool", "tool_call_id": part.call_id, "content": part.text}
    elif message.role == "assistant":
        yield _assistant(message)
    else:
        yield {
            "role": message.role,
            "content": _content(message.parts, images=images, vision=vision),
        }


def _assistant(message: ChatMessage) -> Json:
    calls = [
        {
            "id": part.id,
            "type": "function",
            "function": {"name": part.name, "arguments": part.arguments},
        }
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    text = text_of(message.parts)
    if not calls:
        return {"role": "assistant", "content": text}
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


def _content(parts: tuple[Part, ...], *, images: Images, vision: bool) -> str | list[Json]:
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return parts[0].text
    blocks = [_block(part, images=images, vision=vision) for part in parts]
    if all(block["type"] == "text" for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return blocks


def _block(part: Part, *, images: Images, vision: bool) -> Json:
    if isinstance(part, ImagePart):
        return _image(part, images=images) if vision else _text(_NO_VISION)
    if isinstance(part, TextPart):
        return _text(part.text)
    if isinstance(part, AudioPart):
        return _text(part.transcript or "[a sound was attached; it has no transcript]")
    if isinstance(part, FilePart):
        return _text(f"[a file was attached: {part.media.name or part.media.mime}]")
    return _text(part.text if isinstance(part, ToolResultPart) else "")


def _image(part: ImagePart, *, images: Images) -> Json:
    # The file comes first: a platform's address may be private or short-lived.
    source = images.get(part.media.path) if part.media.path else None
    source = source or part.media.url
    if source is None:
        return _text(_GONE)
    return {"type": "image_url", "image_url": {"url": source}}


def _text(text: str) -> Json:
    return {"type": "text", "text": text}
