"""Ids: a prefix that says what it names, the time, and randomness; they sort by time."""

import base64
import time
from collections.abc import Callable

from hermes.message.randomness import RandomBytes

MakeId = Callable[[str], str]
_random = RandomBytes(9)


def make_id(prefix: str) -> str:
    """Return a new id such as `m_0k3v...`: 48 bits of milliseconds and 72 of randomness."""
    millis = time.time_ns() // 1_000_000
    raw = millis.to_bytes(6, "big") + _random.take()
    return f"{prefix}_{base64.b32hexencode(raw).decode().lower()}"
