"""Encodes uploads as `multipart/form-data`. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec


class UploadPart(msgspec.Struct, frozen=True, kw_only=True):
    """One file of an upload."""

    name: str
    data: bytes
    mime: str = "application/octet-stream"


# Any: each platform has its own parameters.
def encode_multipart(
    params: Mapping[str, Any], files: Mapping[str, UploadPart], *, boundary: str
) -> bytes:
    """Return the body of an upload: texts as they are, everything else as JSON."""
    pieces: list[bytes] = []
    for name, value in params.items():
        text = value.encode() if isinstance(value, str) else msgspec.json.encode(value)
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
        pieces.extend((head.encode(), text, b"\r\n"))
    for name, upload in files.items():
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; '
            f'filename="{_file_name(upload.name)}"\r\nContent-Type: {_header(upload.mime)}\r\n\r\n'
        )
        pieces.extend((head.encode("utf-8", "replace"), upload.data, b"\r\n"))
    pieces.append(f"--{boundary}--\r\n".encode())
    return b"".join(pieces)


def _file_name(name: str) -> str:
    kept = "".join(char for char in name if char.isprintable() and char not in '"\\/')
    return kept[-100:] or "file"


def _header(value: str) -> str:
    return value if value.isascii() and value.isprintable() else "application/octet-stream"
