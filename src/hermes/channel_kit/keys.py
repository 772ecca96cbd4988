"""A delivery's key in the forms that platforms take; the same key has the same form for ever. Pure."""

import base64
import hashlib
import uuid
from typing import Final

# Our own namespace: a key of ours is a name in it.
_NAMESPACE: Final = uuid.UUID("0b9f6cb9-1f0a-5a43-8a06-6e1a6f0c7d51")
_MOST_31_BIT: Final = (1 << 31) - 1


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
