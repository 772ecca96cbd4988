"""Random bytes from a buffer, for ids: read from the system in blocks, each piece used once.

A system call lets other threads run meanwhile, which costs more than the bytes. The buffer is never
used on both sides of a fork, nor by two threads. A copy of the whole machine has a copy of it: what
must never repeat under a key, such as a nonce, is read straight from the system instead.
"""

import os
from collections import deque

_AT_ONCE = 256


class RandomBytes:
    """Pieces of one size."""

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
