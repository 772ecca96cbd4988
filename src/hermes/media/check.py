"""Whether bytes that strangers send may be taken: not too large, no bomb, told by what they are. Pure.

Used by the media cache for what channels receive, and for pictures that callers of the API give by value.
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
    """How large a file, and a picture by its own word, may be."""

    max_bytes: int
    max_pixels: int


def checked_kind(data: bytes, limits: FileLimits) -> FileKind:
    """Return the kind of what strangers sent; raises what speaks against taking it."""
    if len(data) > limits.max_bytes:
        raise TooLarge(f"it has {len(data)} bytes, at most {limits.max_bytes} are taken")
    kind = file_kind(data)
    if kind.mime in PICTURE_KINDS:
        size = picture_size(data, kind.mime)
        if size is not None and size[0] * size[1] > limits.max_pixels:
            raise BadRequest(f"it is a picture of {size[0]} x {size[1]} pixels, which is too many")
    check_bomb(data, kind)
    return kind


def check_by_value(urls: Iterable[str], limits: FileLimits) -> None:
    """Raise for a picture inside an address that would not be taken as an attachment.

    What is no picture at all is left to whoever sends it, who says what is wrong with it.
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
            raise TooLarge(f"A picture that is given by value is not taken: {error}.") from None
        except BadRequest as error:
            raise BadRequest(f"A picture that is given by value is not taken: {error}.") from None
