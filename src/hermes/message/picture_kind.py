"""Detects the kind of a picture from its first bytes. Pure."""

from typing import Final

PICTURE_KINDS: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
HEAD_BYTES: Final = 16
"""How many bytes are needed to detect the kind."""

_BEGINNINGS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def picture_kind(head: bytes) -> str | None:
    """Return the type of a picture that begins like this, or None if it is not one of
    `PICTURE_KINDS`."""
    for beginning, kind in _BEGINNINGS:
        if head.startswith(beginning):
            return kind
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else None
