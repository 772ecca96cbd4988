"""Checks files from strangers: not too large, not a bomb, and the type by their bytes. Pure.

Used by the media cache for what channels receive, and for pictures that API callers send by value.
"""

import binascii
from collections.abc import Iterable

import msgspec

from hermes.errors import BadRequest, ProviderRejected, TooLarge
from hermes.media.bombs import check_bomb
from hermes.media.image_files import inline_image
from hermes.message.media_kind import FileKind, file_kind
from hermes.message.picture_kind import PICTURE_KINDS
from hermes.message.picture_size import picture_size


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
        if found is None or found.is_too_large:
            continue
        try:
            checked_kind(binascii.a2b_base64(found.data), limits)
        except TooLarge as error:
            raise TooLarge(f"A picture that is sent by value is refused: {error}.") from None
        except BadRequest as error:
            raise BadRequest(f"A picture that is sent by value is refused: {error}.") from None
