"""Ids: a prefix that says what it names, the time, and randomness; they sort by time."""

import os
import time
from collections import deque
from collections.abc import Callable

MakeId = Callable[[str], str]
_AT_ONCE = 256
_LETTERS = "0123456789abcdefghijklmnopqrstuv"
_TWO_LETTERS = [one + other for one in _LETTERS for other in _LETTERS]
_LOW = (1 << 60) - 1


class RandomBytes:
    """Random pieces of one size from a buffer, read from the system in blocks; each is used once.

    A system call lets other threads run meanwhile, which costs more than the bytes. The buffer is
    never used on both sides of a fork, nor by two threads. A copy of the whole machine has a copy
    of it: what must never repeat under a key, such as a nonce, comes straight from the system.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._stock: deque[bytes] = deque()
        os.register_at_fork(after_in_child=self._start_over)

    def take(self) -> bytes:
        """Return a piece that nobody else gets.

        A fork in a signal handler interrupts this on both sides: only the piece of that very call
        can be the same, never one that is taken later.
        """
        # A child of a fork has another buffer: what was being filled is then nobody's.
        stock = self._stock
        try:
            return stock.popleft()
        except IndexError:
            size, fresh = self._size, os.urandom(self._size * _AT_ONCE)
            stock.extend(fresh[at : at + size] for at in range(size, len(fresh), size))
            return fresh[:size]

    def _start_over(self) -> None:
        self._stock = deque()


_random = RandomBytes(9)


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
