"""Checks files from strangers: not too large, not a bomb, and the type by their bytes. Pure.

Used by the media cache for what channels receive, and for pictures that API callers send by value.
"""

import binascii
from collections.abc import Iterable

import msgspec

from hermes.errors import BadRequest, ProviderRejected, TooLarge
from hermes.media.bombs import check_bomb
from hermes.media.image_files import inline_image, is_too_large
from hermes.message.inline_file import PDF, SOUND_KINDS, inline_file
from hermes.message.media_kind import FileKind, file_kind
from hermes.message.parts import Media
from hermes.message.picture_kind import PICTURE_KINDS
from hermes.message.picture_size import picture_size

_PDF_START = b"%PDF-"
# The header of a PDF may follow other bytes; readers look this far.
_PDF_HEAD = 1024
_SYNC = 0xFF
_SYNC_BITS = 0xE0


class FileLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The maximum size of a file, and of a picture by its header."""

    max_bytes: int
    max_pixels: int


def checked_kind(data: bytes, limits: FileLimits) -> FileKind:
    """Return the kind of an untrusted file; raises if it must be refused."""
    if len(data) > limits.max_bytes:
        raise TooLarge(f"it has {len(data)} bytes, at most {limits.max_bytes} are accepted")
    kind = file_kind(data)
    if kind.mime in PICTURE_KINDS:
        size = picture_size(data, kind.mime)
        if size is not None and size[0] * size[1] > limits.max_pixels:
            raise BadRequest(f"it is a picture of {size[0]} x {size[1]} pixels, which is too many")
    check_bomb(data, kind)
    return kind


def check_by_value(urls: Iterable[str], limits: FileLimits) -> None:
    """Raise for a picture in a data URL that would be refused as an attachment.

    Anything that is not a picture is left to the sender, which reports what is wrong with it.
    """
    for url in urls:
        try:
            found = inline_image(url)
        except ProviderRejected:
            continue
        if found is None or is_too_large(found):
            continue
        try:
            checked_kind(binascii.a2b_base64(found.data), limits)
        except TooLarge as error:
            raise TooLarge(f"A picture that is sent by value is refused: {error}.") from None
        except BadRequest as error:
            raise BadRequest(f"A picture that is sent by value is refused: {error}.") from None


def check_files_by_value(files: Iterable[Media], limits: FileLimits) -> None:
    """Raise for a document or a sound by value that is too large or not what it claims to be."""
    for media in files:
        found = inline_file(media)
        if found is None:
            continue
        what = f"A file of the type {found.mime} that is sent by value"
        if len(found.data) * 3 // 4 > limits.max_bytes:
            raise TooLarge(f"{what} has more than the {limits.max_bytes} bytes that are accepted.")
        try:
            data = binascii.a2b_base64(found.data, strict_mode=True)
        except (binascii.Error, ValueError):
            raise BadRequest(f"{what} is not base64: send its bytes in base64.") from None
        if not _is_kind(data, found.mime):
            raise BadRequest(f"{what} is a file of another type: check its bytes.")


def _is_kind(data: bytes, mime: str) -> bool:
    if mime == PDF:
        return _PDF_START in data[:_PDF_HEAD]
    if mime == SOUND_KINDS["wav"]:
        return data[:4] == b"RIFF" and data[8:12] == b"WAVE"
    is_frame = len(data) > 1 and data[0] == _SYNC and data[1] & _SYNC_BITS == _SYNC_BITS
    return is_frame or data[:3] == b"ID3"
