"""Pictures, documents and sounds that a caller sends to a model: by value, or by their address.

Only the form is read here; `serve` checks the bytes.
"""

import re
from typing import get_args

from hermes.errors import BadRequest
from hermes.message.inline_file import PDF, SOUND_KINDS, InlineFile
from hermes.message.parts import AudioPart, FilePart, ImageDetail, Media
from hermes.net.untrusted_url import MAX_URL_CHARS

# Not "image/*": one service requires a type next to an address, and detects the type itself.
_UNKNOWN_IMAGE = "image/jpeg"
_TYPES = {"png": "image/png", "gif": "image/gif", "webp": "image/webp"}
_ENDING = re.compile(r"https?://[^?#]*\.(\w{3,4})(?:[?#]|$)", re.ASCII | re.IGNORECASE)
_INLINE = re.compile(r"data:(image/[\w.+-]{1,64});base64,(?=.)", re.ASCII | re.IGNORECASE)


def image_detail(said: str | None) -> ImageDetail | None:
    """Return how closely a picture should be looked at; None for what is not known, and for auto."""
    return next((one for one in get_args(ImageDetail) if one == said), None)


def image_media(url: str, field: str) -> Media:
    """Return the picture at `url`; raise a `BadRequest` naming `field` for any other scheme."""
    if is_web_address(url):
        ending = _ENDING.match(url) if len(url) <= MAX_URL_CHARS else None
        return Media(_TYPES.get(ending[1].lower() if ending else "", _UNKNOWN_IMAGE), url=url)
    inline = _INLINE.match(url)
    if inline is None:
        raise BadRequest(
            f"{field} begins with {url[:24]!r}: expected an http(s) address,"
            " or data:image/...;base64,... with the picture itself."
        )
    return Media(inline[1].lower(), url=url)


def is_web_address(url: str) -> bool:
    """Return whether an address is one that can be fetched from the web."""
    return url[:8].lower() == "https://" or url[:7].lower() == "http://"


def sound_part(data: str, kind: str, field: str) -> AudioPart:
    """Return a sound by value; raise a `BadRequest` naming `field` for an unknown format."""
    mime = SOUND_KINDS.get(kind)
    if mime is None:
        raise BadRequest(f"{field}.format: expected 'wav' or 'mp3', found {kind[:24]!r}.")
    return AudioPart(Media(mime, url=InlineFile(mime, data).url))


def file_part(data: str | None, name: str | None, field: str) -> FilePart:
    """Return a PDF document by value: a data URL, or its bytes in base64.

    Raise a `BadRequest` naming `field` for any other kind of file.
    """
    if not data:
        raise BadRequest(
            f"{field}: missing; files that were uploaded to a service cannot be used here: send the"
            " document as data:application/pdf;base64,...."
        )
    head, comma, bytes_ = data.partition(",") if data[:5].lower() == "data:" else ("", "", data)
    if comma and head.lower() != f"data:{PDF};base64":
        raise BadRequest(
            f"{field} begins with {data[:40]!r}: expected data:application/pdf;base64,...; send a"
            " text file as text."
        )
    return FilePart(Media(PDF, url=InlineFile(PDF, bytes_).url, name=name or None))


def file_at(url: str, field: str, *, name: str | None = None) -> FilePart:
    """Return a PDF document by its address; raise a `BadRequest` naming `field` for any other."""
    if not is_web_address(url) or len(url) > MAX_URL_CHARS:
        raise BadRequest(f"{field}: expected an http(s) address, found {url[:24]!r}.")
    return FilePart(Media(PDF, url=url, name=name or None))
