"""The feed of rare changes: a row in the unit of the change, and listeners who drop what they cache."""

from collections import defaultdict
from collections.abc import Callable
from typing import get_args

from hermes.ports.feed import ChangeKind
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Reads, Tx

_SQL = load("feed")
_KINDS = frozenset(get_args(ChangeKind))
_AT_ONCE = 500
Heard = Callable[[str], None]


class SqlFeed:
    """Implements `ports.feed.ChangeFeed`.

    Unless it is `alone`, a process writes rows for the others and reads theirs, from `last` on.
    """

    def __init__(self, reads: Reads, *, alone: bool, last: int) -> None:
        self._reads = reads
        self._alone = alone
        self._last = last
        self._listeners: defaultdict[str, list[Heard]] = defaultdict(list)
        self.stamp = 0

    def on(self, kind: ChangeKind, heard: Heard) -> None:
        """Call `heard` with the key of every change of this kind, once it is on disk."""
        self._listeners[kind].append(heard)

    def put(self, tx: Tx, kind: ChangeKind, key: str = "") -> None:
        """Write a change for other nodes, in its own unit; `tell` it here after the commit."""
        if not self._alone:
            tx.put(_SQL["add"], kind, key)

    def tell(self, kind: ChangeKind, key: str = "") -> None:
        """Tell the listeners of this process about a change that is on disk."""
        self.stamp += 1
        for heard in self._listeners[kind]:
            heard(key)

    def telling(self, kind: ChangeKind, key: str = "") -> Callable[[object], None]:
        """Return what to do after the commit of a change, whatever its unit returned."""
        return lambda _result: self.tell(kind, key)

    async def catch_up(self) -> int:
        """Hear what other processes have changed since the last time; return how much it was."""
        if self._alone:
            return 0
        count = 0
        while True:
            rows = await self._reads.rows(_SQL["after"], self._last, _AT_ONCE)
            for number, kind, key in rows:
                self._last = max(self._last, int(number))
                # A newer node may write kinds that this one has no cache for.
                if kind in _KINDS:
                    self.tell(kind, key)
            count += len(rows)
            if len(rows) < _AT_ONCE:
                return count
