"""A delivery's key in the forms that platforms take; the same key has the same form for ever. Pure."""

import base64
import hashlib
import re
import uuid
from typing import Final

# Our own namespace: a key of ours is a name in it.
_NAMESPACE: Final = uuid.UUID("0b9f6cb9-1f0a-5a43-8a06-6e1a6f0c7d51")
_MOST_31_BIT: Final = (1 << 31) - 1
# A prefix, the 120 bits of an id as `message.ids` writes them, and what follows, such as a chunk.
_KEY: Final = re.compile(r"([a-z])_([0-9a-v]{24})([^\s]{0,8})")
_PACKED: Final = re.compile(r"([a-z])([A-Za-z0-9_-]{20})([^\s]{0,8})")


def key_as_uuid(key: str) -> str:
    """Return the key as a UUID."""
    return str(uuid.uuid5(_NAMESPACE, key))


def short_key(key: str, most: int) -> str:
    """Return the key in at most `most` letters and digits; one that is short enough stays as it is."""
    if len(key) <= most:
        return key
    digest = hashlib.sha256(key.encode()).digest()
    return base64.b32encode(digest).decode().rstrip("=").lower()[:most]


def key_as_number(key: str) -> int:
    """Return the key as a number from 1 to 2^31-1; of many keys two may have the same."""
    digest = hashlib.sha256(key.encode()).digest()
    return int.from_bytes(digest[:8], "big") % _MOST_31_BIT + 1


def packed_key(key: str, most: int) -> str:
    """Return the key in at most `most` characters, so that `unpacked_key` reads it again if it can be.

    A key that is not made of an id, or has too much after it, becomes what `short_key` makes of it.
    """
    found = _KEY.fullmatch(key)
    if found is None:
        return short_key(key, most)
    bits = base64.b32hexdecode(found[2].upper())
    packed = f"{found[1]}{base64.urlsafe_b64encode(bits).decode()}{found[3]}"
    return packed if len(packed) <= most else short_key(key, most)


def unpacked_key(packed: str) -> str | None:
    """Return the key that `packed_key` has packed; None if it is no such text.

    Anything of that form is read as a key: who asks must know that the text is one of theirs.
    """
    found = _PACKED.fullmatch(packed)
    if found is None:
        return None
    bits = base64.urlsafe_b64decode(found[2])
    return f"{found[1]}_{base64.b32hexencode(bits).decode().lower()}{found[3]}"
