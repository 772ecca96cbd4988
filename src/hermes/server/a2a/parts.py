"""Converts parts of A2A messages to parts of events, and back. Pure.

Files are checked as on every other channel; their bytes decide what they are, not their names.
"""

import json
from base64 import b64encode
from collections.abc import Iterable
from typing import Any, Final

from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError

from hermes.errors import Refused
from hermes.media.check import FileLimits, checked_kind
from hermes.message.file_name import safe_name
from hermes.message.inline_file import PDF, SOUND_KINDS
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, Part, TextPart
from hermes.message.picture_kind import PICTURE_KINDS
from hermes.net.untrusted_url import MAX_URL_CHARS

JSON: Final = "application/json"
TEXT: Final = "text/plain"
INPUT_MODES: Final = (TEXT, JSON, *sorted(PICTURE_KINDS), PDF, *sorted(SOUND_KINDS.values()))
_LONGEST_TEXT: Final = 100_000
_WEB: Final = ("https://", "http://")


def read_parts(parts: Iterable[pb.Part], limits: FileLimits) -> tuple[Part, ...]:
    """Return the parts of a message; raises an error of the protocol for what is not accepted."""
    found = tuple(_read(part, limits) for part in parts)
    texts = [part.text for part in found if isinstance(part, TextPart)]
    if len(texts) == len(found) and not any(text.strip() for text in texts):
        raise InvalidParamsError("The message is empty: it contains only white space.")
    if sum(map(len, texts)) > _LONGEST_TEXT:
        raise InvalidParamsError(f"The message has more than {_LONGEST_TEXT:,} characters.")
    return found


def _read(part: pb.Part, limits: FileLimits) -> Part:
    kind = part.WhichOneof("content")
    if kind == "text":
        return TextPart(part.text)
    if kind == "data":
        return TextPart(f"\n\n{_data_text(part)}")
    if kind == "raw":
        return _by_value(part, limits)
    if kind == "url":
        return _at_address(part)
    raise InvalidParamsError("A part has no content: expected text, data, or a file.")


def _data_text(part: pb.Part) -> str:
    """Return JSON as a text that is the same whenever the same data is sent."""
    try:
        found = _with_integers(MessageToDict(part.data))
        return json.dumps(found, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except ValueError:
        raise InvalidParamsError("A part of data has a number that is not finite.") from None


# Any: JSON.
def _with_integers(value: Any) -> Any:
    """Return JSON with the whole numbers that it had: the SDK makes floating ones of them."""
    if isinstance(value, dict):
        return {name: _with_integers(one) for name, one in value.items()}
    if isinstance(value, list):
        return list(map(_with_integers, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _by_value(part: pb.Part, limits: FileLimits) -> Part:
    try:
        kind = checked_kind(part.raw, limits)
    except Refused as error:
        raise InvalidParamsError(f"A file is refused: {error}.") from None
    name = safe_name(part.filename)
    if kind.mime == TEXT:
        return TextPart(_named(part.raw.decode(errors="replace"), name))
    if kind.mime not in INPUT_MODES:
        raise ContentTypeNotSupportedError(
            f"A file is of the type {kind.mime}: expected {', '.join(INPUT_MODES)}."
        )
    data = b64encode(part.raw).decode()
    media = Media(kind.mime, url=f"data:{kind.mime};base64,{data}", name=name)
    return _attached(media)


def _named(text: str, name: str | None) -> str:
    return f"\n\n{text}" if name is None else f"\n\n{name}:\n\n{text}"


def _at_address(part: pb.Part) -> Part:
    """Return a file at an address, which the turn fetches through the guarded client."""
    if not part.url.lower().startswith(_WEB) or len(part.url) > MAX_URL_CHARS:
        raise InvalidParamsError(
            f"The address of a file begins with {part.url[:24]!r}: expected an http(s) address."
        )
    mime = part.media_type.partition(";")[0].strip().lower()[:100] or "application/octet-stream"
    return _attached(Media(mime, url=part.url, name=safe_name(part.filename)))


def _attached(media: Media) -> Part:
    if media.mime.startswith("image/"):
        return ImagePart(media)
    return AudioPart(media) if media.mime.startswith("audio/") else FilePart(media)


def write_parts(parts: Iterable[Part]) -> list[pb.Part]:
    """Return the parts of an event as their sender sees them; files without their bytes."""
    return [one for part in parts if (one := _written(part)) is not None]


def _written(part: Part) -> pb.Part | None:
    if isinstance(part, TextPart):
        return text_part(part.text)
    if not isinstance(part, ImagePart | AudioPart | FilePart):
        return None
    media = part.media
    if media.url is not None and media.url.lower().startswith(_WEB):
        return pb.Part(url=media.url, filename=media.name or "", media_type=media.mime)
    return text_part(f"[{media.name or 'a file'}, {media.mime}]")


def text_part(text: str) -> pb.Part:
    """Return a part of plain text."""
    return pb.Part(text=text)


def data_part(text: str) -> pb.Part | None:
    """Return a part of the JSON in a text; None if it is none."""
    part = pb.Part(media_type=JSON)
    try:
        ParseDict(json.loads(text), part.data)
    except (ValueError, ParseError, RecursionError):
        return None
    return part
