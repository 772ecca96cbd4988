"""Estimates the tokens of a request before anybody has counted them. Pure.

Every character that would be sent counts; pictures count at a flat rate, because their size in
bytes says nothing about their tokens.
"""

from collections.abc import Iterator

from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.ports.pricing import estimated
from hermes.ports.provider import ModelRequest

# What a picture of about a megapixel takes.
_IMAGE_TOKENS = 1_500


def input_tokens(request: ModelRequest) -> int:
    """Return an estimate of the tokens of everything that would be sent; at least 1."""
    chars, images = sum(_lengths(request)), 0
    if request.plain_chars is not None:
        return max(1, estimated(chars + request.plain_chars))
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, TextPart):
                # Nearly all of a long history.
                chars += len(part.text)
            elif isinstance(part, ImagePart):
                images += 1
            else:
                chars += _length(part)
    return max(1, estimated(chars) + images * _IMAGE_TOKENS)


def _lengths(request: ModelRequest) -> Iterator[int]:
    yield from map(len, request.system)
    for tool in request.tools:
        yield len(tool.name) + len(tool.description) + len(bytes(tool.parameters))
    if request.schema is not None:
        yield len(bytes(request.schema.schema))


def _length(part: Part) -> int:
    if isinstance(part, FilePart | ImagePart):
        return 0
    if isinstance(part, AudioPart):
        return len(part.transcript or "")
    if isinstance(part, ToolCallPart):
        return len(part.name) + len(part.arguments)
    if isinstance(part, ToolResultPart):
        return len(part.text)
    if isinstance(part, ReasoningPart):
        return len(part.text) + len(part.signature or "") + len(part.sealed or "")
    return len(part.text)
