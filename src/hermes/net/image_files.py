"""The images of a request read from their files as base64; knows no dialect and no sockets."""

import asyncio
import base64
from pathlib import Path

from hermes.message.parts import ImagePart
from hermes.ports.provider import ModelRequest

_MAX_IMAGE_BYTES = 20_000_000


def image_files(request: ModelRequest) -> dict[str, str]:
    """Return the files of the images that the request shows, with their types."""
    return {
        part.media.path: part.media.mime
        for message in request.messages
        for part in message.parts
        if isinstance(part, ImagePart) and part.media.path is not None
    }


async def load_images(request: ModelRequest) -> dict[str, str]:
    """Return each image file of the request in base64; one gone or too large is left out."""
    files = image_files(request)
    return await asyncio.to_thread(_load, tuple(files)) if files else {}


async def load_data_urls(request: ModelRequest) -> dict[str, str]:
    """Return each image file of the request as a data URL; one gone or too large is left out."""
    files = image_files(request)
    found = await load_images(request)
    return {path: f"data:{files[path]};base64,{data}" for path, data in found.items()}


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
