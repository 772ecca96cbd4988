"""Estimates the tokens of a request before anybody has counted them. Pure.

Every character that would be sent counts; pictures count at a flat rate, because their size in
bytes says nothing about their tokens.
"""

from collections.abc import Iterator

from hermes.message.inline_file import inline_file
from hermes.message.parts import (
    AudioPart,
    ChoicesPart,
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
# A page of a PDF is read as text and as a picture. Pages differ widely in size; services accept
# some hundred of them.
_PAGE_TOKENS = 2_500
_PAGE_BYTES = 50_000
_MOST_PAGES = 100
_UNKNOWN_PAGES = 10
# Services count 10 to 32 tokens for a second of sound; compressed, that is some kilobytes.
_SOUND_BYTES = 400


def input_tokens(request: ModelRequest) -> int:
    """Return an estimate of the tokens of everything that would be sent; at least 1."""
    chars, images, files = sum(_lengths(request)), 0, 0
    if request.plain_chars is not None:
        return max(1, estimated(chars + request.plain_chars))
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, TextPart):
                # Nearly all of a long history.
                chars += len(part.text)
            elif isinstance(part, ImagePart):
                images += 1
            elif isinstance(part, FilePart | AudioPart) and part.media.url is not None:
                files += _file_tokens(part)
            else:
                chars += _length(part)
    return max(1, estimated(chars) + images * _IMAGE_TOKENS + files)


def _file_tokens(part: FilePart | AudioPart) -> int:
    """Return an estimate for a file that is sent by value or by its address."""
    found = inline_file(part.media)
    if found is None:
        return _PAGE_TOKENS * _UNKNOWN_PAGES
    size = len(found.data) * 3 // 4
    if isinstance(part, AudioPart):
        return max(1, size // _SOUND_BYTES)
    return _PAGE_TOKENS * max(1, min(_MOST_PAGES, size // _PAGE_BYTES))


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
    if isinstance(part, ChoicesPart):
        return len(part.question)
    return len(part.text)
