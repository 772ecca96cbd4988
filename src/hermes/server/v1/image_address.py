"""The address of a picture that a caller sends to a model: an https address, or a data URL."""

import re

from hermes.errors import BadRequest
from hermes.message.parts import Media
from hermes.net.untrusted_url import MAX_URL_CHARS

# Not "image/*": one service requires a type next to an address, and detects the type itself.
_UNKNOWN_IMAGE = "image/jpeg"
_TYPES = {"png": "image/png", "gif": "image/gif", "webp": "image/webp"}
_ENDING = re.compile(r"https://[^?#]*\.(\w{3,4})(?:[?#]|$)", re.ASCII | re.IGNORECASE)
_INLINE = re.compile(r"data:(image/[\w.+-]{1,64});base64,(?=.)", re.ASCII | re.IGNORECASE)


def image_media(url: str, field: str) -> Media:
    """Return the picture at `url`; raise a `BadRequest` naming `field` for any other scheme."""
    if url[:8].lower() == "https://":
        ending = _ENDING.match(url) if len(url) <= MAX_URL_CHARS else None
        return Media(_TYPES.get(ending[1].lower() if ending else "", _UNKNOWN_IMAGE), url=url)
    inline = _INLINE.match(url)
    if inline is None:
        raise BadRequest(
            f"{field} begins with {url[:24]!r}: expected an https address, or"
            " data:image/...;base64,... with the picture itself."
        )
    return Media(inline[1].lower(), url=url)
