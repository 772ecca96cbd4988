"""A map in memory that never grows past a bound: what was used last stays, and for a time at most."""

from collections import OrderedDict
from typing import Generic, TypeVar

from hermes.ports.clock import Clock

K = TypeVar("K")
V = TypeVar("V")


class BoundedMap(Generic[K, V]):
    """At most `most` entries, each for `lasts_s` after it was put, unless it is put for longer."""

    def __init__(self, most: int, *, lasts_s: float, clock: Clock) -> None:
        self._most = most
        self._lasts_s = lasts_s
        self._clock = clock
        self._entries: OrderedDict[K, tuple[V, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: K) -> bool:
        found = self._entries.get(key)
        return found is not None and found[1] > self._clock.monotonic()

    def get(self, key: K) -> V | None:
        """Return the value of a key that has not ended, or None."""
        found = self._entries.get(key)
        if found is None or found[1] <= self._clock.monotonic():
            return None
        self._entries.move_to_end(key)
        return found[0]

    def last(self, key: K) -> V | None:
        """Return the value of a key, also one that has ended, or None."""
        found = self._entries.get(key)
        return None if found is None else found[0]

    def put(self, key: K, value: V, *, lasts_s: float | None = None) -> None:
        """Put a value; the entry that was used longest ago makes room."""
        until = self._clock.monotonic() + (self._lasts_s if lasts_s is None else lasts_s)
        self._entries[key] = (value, until)
        self._entries.move_to_end(key)
        while len(self._entries) > self._most:
            self._entries.popitem(last=False)

    def drop(self, key: K) -> None:
        """Drop an entry, if there is one."""
        self._entries.pop(key, None)
