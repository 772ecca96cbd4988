"""Ids: a prefix that says what it names, the time, and randomness; they sort by time."""

import base64
import os
import time
from collections.abc import Callable

MakeId = Callable[[str], str]


def make_id(prefix: str) -> str:
    """Return a new id such as `m_0k3v...`: 48 bits of milliseconds and 72 of randomness."""
    millis = time.time_ns() // 1_000_000
    raw = millis.to_bytes(6, "big") + os.urandom(9)
    return f"{prefix}_{base64.b32hexencode(raw).decode().lower()}"
