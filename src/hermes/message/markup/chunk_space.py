"""Computes how many blocks or spans still fit into a chunk, in any unit of size.

Used by `split.py` and `cut.py`; knows nothing about Markdown. Pure.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

Part = TypeVar("Part")
Inner = TypeVar("Inner")

# After this many guesses from the sizes, bisection is safer.
_GUESSES = 5


class ChunkSpace(msgspec.Struct, Generic[Part], frozen=True, kw_only=True):
    """The room left in a chunk; `size` measures it with these parts, `alone` only the parts."""

    size: Callable[[tuple[Part, ...]], int]
    alone: Callable[[tuple[Part, ...]], int]
    limit: int
    is_empty: bool = True

    def fits(self, parts: tuple[Part, ...]) -> bool:
        """Return whether the parts fit into the chunk."""
        return self.size(parts) <= self.limit

    def fits_alone(self, parts: tuple[Part, ...]) -> bool:
        """Return whether the parts would fit into their own chunk."""
        return self.alone(parts) <= self.limit

    def is_half_full(self, parts: tuple[Part, ...]) -> bool:
        """Return whether a chunk that ends with these parts is worth sending."""
        return self.size(parts) * 2 >= self.limit

    def after(self, taken: tuple[Part, ...]) -> "ChunkSpace[Part]":
        """Return the room that is left after these parts."""
        if not taken:
            return self
        return ChunkSpace(
            size=lambda parts: self.size((*taken, *parts)),
            alone=self.alone,
            limit=self.limit,
            is_empty=False,
        )

    def inside(self, wrap: Callable[[tuple[Inner, ...]], Part]) -> "ChunkSpace[Inner]":
        """Return the room inside a container with its own parts."""
        return ChunkSpace(
            size=lambda inner: self.size((wrap(inner),)),
            alone=lambda inner: self.alone((wrap(inner),)),
            limit=self.limit,
            is_empty=self.is_empty,
        )


def most(count: int, size: Callable[[int], int], *, limit: int, guess: int) -> int:
    """Return the largest number up to `count` whose size is within the limit; sizes only grow."""
    low, high = 0, count + 1
    base = size(0)
    tries = 0
    while high - low > 1:
        number = min(max(guess, low + 1), high - 1)
        found = size(number)
        if found <= limit:
            low = number
        else:
            high = number
        tries += 1
        if tries > _GUESSES:
            guess = (low + high) // 2 if high <= count else low * 2
        else:
            guess = number * max(0, limit - base) // max(1, found - base)
    return low
