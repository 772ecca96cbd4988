"""Ids: a prefix that says what it names, the time, and randomness; they sort by time."""

import time
from collections.abc import Callable

from hermes.message.randomness import RandomBytes

MakeId = Callable[[str], str]
_random = RandomBytes(9)
_LETTERS = "0123456789abcdefghijklmnopqrstuv"
_TWO_LETTERS = [one + other for one in _LETTERS for other in _LETTERS]
_LOW = (1 << 60) - 1


def make_id(prefix: str) -> str:
    """Return a new id such as `m_0k3v...`: 48 bits of milliseconds and 72 of randomness."""
    bits = (time.time_ns() // 1_000_000) << 72 | int.from_bytes(_random.take(), "big")
    # What `base64.b32hexencode` writes, in lower case, at half its cost.
    two, high, low = _TWO_LETTERS, bits >> 60, bits & _LOW
    return (
        f"{prefix}_{two[high >> 50]}{two[high >> 40 & 1023]}{two[high >> 30 & 1023]}"
        f"{two[high >> 20 & 1023]}{two[high >> 10 & 1023]}{two[high & 1023]}"
        f"{two[low >> 50]}{two[low >> 40 & 1023]}{two[low >> 30 & 1023]}"
        f"{two[low >> 20 & 1023]}{two[low >> 10 & 1023]}{two[low & 1023]}"
    )
