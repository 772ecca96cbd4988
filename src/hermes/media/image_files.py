"""The images of a request as base64: read from their files, or from their data URLs.

It knows no dialect and no sockets. An image that is missing or too large is left to the wires,
which say so in its place; a malformed data URL is an error.
"""

import asyncio
import base64
import binascii
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes

from hermes.errors import ProviderRejected
from hermes.message.inline_file import InlineFile
from hermes.message.parts import ImagePart, Media
from hermes.ports.provider import ModelRequest

_MAX_IMAGE_BYTES = 20_000_000
_INLINE = "data:"
_IMAGE_TYPE = re.compile(r"image/[\w.+-]{1,100}", re.ASCII)


def is_inline(url: str) -> bool:
    """Return whether an address is a data URL, valid or not."""
    return url[: len(_INLINE)].lower() == _INLINE


def inline_image(url: str | None) -> InlineFile | None:
    """Return the image inside a data URL, or None for any other address.

    A data URL without an image is wrong for every service: `ProviderRejected`, everywhere. One that
    is too large is not read any further.
    """
    if url is None or not is_inline(url):
        return None
    head, comma, text = url[len(_INLINE) :].partition(",")
    kind, *options = [piece.strip().lower() for piece in head.split(";")]
    if not comma or not _IMAGE_TYPE.fullmatch(kind):
        raise _malformed(f"the type {kind[:40]!r}" if comma else "no comma after its type")
    found = InlineFile(kind, text)
    if is_too_large(found):
        return found
    if "base64" not in options:
        return InlineFile(kind, base64.b64encode(unquote_to_bytes(text)).decode())
    data = "".join((unquote(text) if "%" in text else text).split())
    try:
        is_empty = not binascii.a2b_base64(data, strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise _malformed("data that is not base64") from error
    if is_empty:
        raise _malformed("nothing")
    return InlineFile(kind, data)


def image_url(media: Media, files: Mapping[str, str]) -> str | None:
    """Return the address that shows an image, or None if it is gone or too large.

    `files` maps the path of each image file to its data URL. The file comes first: a platform's
    address may be private or short-lived.
    """
    found = files.get(media.path) if media.path else None
    if found is not None:
        return found
    inline = inline_image(media.url)
    if inline is None:
        return media.url
    return None if is_too_large(inline) else inline.url


def image_files(request: ModelRequest) -> dict[str, str]:
    """Return the files of the images that the request shows, with their types."""
    if request.plain_chars is not None:
        return {}
    return {
        part.media.path: part.media.mime
        for message in request.messages
        for part in message.parts
        if isinstance(part, ImagePart) and part.media.path is not None
    }


async def load_images(request: ModelRequest) -> dict[str, str]:
    """Return each image file of the request in base64; one gone or too large is left out."""
    return await _loaded(image_files(request))


async def load_data_urls(request: ModelRequest) -> dict[str, str]:
    """Return each image file of the request as a data URL; one gone or too large is left out."""
    files = image_files(request)
    found = await _loaded(files)
    return {path: f"data:{files[path]};base64,{data}" for path, data in found.items()}


async def _loaded(files: dict[str, str]) -> dict[str, str]:
    return await asyncio.to_thread(_load, tuple(files)) if files else {}


def _load(paths: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in paths:
        file = Path(path)
        try:
            if file.stat().st_size > _MAX_IMAGE_BYTES:
                continue
            found[path] = base64.b64encode(file.read_bytes()).decode()
        except OSError:
            continue
    return found


def is_too_large(image: InlineFile) -> bool:
    """Return whether an image is larger than a file may be."""
    return len(image.data) * 3 // 4 > _MAX_IMAGE_BYTES


def _malformed(found: str) -> ProviderRejected:
    return ProviderRejected(
        "an image was given by value, expected data:image/TYPE;base64,DATA, found"
        f" {found}: send the image's bytes in base64, or the address where it is",
        everywhere=True,
    )
