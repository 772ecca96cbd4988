"""Random bytes from a buffer: read from the system in blocks, each byte used once.

A system call lets other threads run meanwhile, which costs more than the bytes. The buffer is never
used on both sides of a fork, nor by two threads.
"""

import os
from collections import deque

_AT_ONCE = 256


class RandomBytes:
    """Pieces of one size."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._stock: deque[bytes] = deque()
        os.register_at_fork(after_in_child=self._stock.clear)

    def take(self) -> bytes:
        """Return a piece that nobody else gets."""
        try:
            return self._stock.popleft()
        except IndexError:
            size, fresh = self._size, os.urandom(self._size * _AT_ONCE)
            self._stock.extend(fresh[at : at + size] for at in range(size, len(fresh), size))
            return fresh[:size]
