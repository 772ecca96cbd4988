"""Who gets the next place where many ask: in turn, and never all of them for one.

Places are dealt over groups first (the platform account, token or key that people come by), then
over those who ask within a group. So a token that makes up senders gets one group's turn. Knows
neither models nor tasks.
"""

from collections import deque
from typing import Generic, NamedTuple, TypeVar

_FEW = 3
Ticket = TypeVar("Ticket")


class ShareHolder(NamedTuple):
    """Who asks: `one` is a person or a key, `group` the account, token or key that they come by.

    A person who comes by several ways is `one` in each of these groups.
    """

    group: str
    one: str


class Shares(Generic[Ticket]):
    """Deals `places`; one asker has at most `each` of them.

    The last tenth, and at least three (of fewer than 15 places a fifth), is for groups that have
    none: one each. As many again are for askers that have none. So a group that keeps what it has
    for long shuts out neither other groups nor, for a while, its own newcomers.
    """

    def __init__(self, places: int, *, each: int) -> None:
        self._free = places
        self._each = each
        self._for_new_groups = max(places // 10, min(_FEW, places // 5))
        self._for_new_askers = 2 * self._for_new_groups
        self._held: dict[str, int] = {}
        self._held_by_group: dict[str, int] = {}
        self._waiting: dict[str, dict[str, deque[Ticket]]] = {}

    def can_take(self, asker: ShareHolder) -> bool:
        """Return True if there is a place for the asker now.

        Nobody who waits is passed over by taking it: whoever could have it has it already.
        """
        held = self._held.get(asker.one, 0)
        return (
            self._group_can_take(asker.group)
            and held < self._each
            and (not held or self._free > self._for_new_askers)
        )

    def take(self, asker: ShareHolder) -> None:
        """Give a place to an asker that can take one."""
        self._free -= 1
        self._held[asker.one] = self._held.get(asker.one, 0) + 1
        self._held_by_group[asker.group] = self._held_by_group.get(asker.group, 0) + 1

    def release(self, asker: ShareHolder) -> None:
        """Take a place back; `deal` finds out who gets it."""
        self._free += 1
        self._held[asker.one] -= 1
        if not self._held[asker.one]:
            del self._held[asker.one]
        self._held_by_group[asker.group] -= 1
        if not self._held_by_group[asker.group]:
            del self._held_by_group[asker.group]

    def wait(self, asker: ShareHolder, ticket: Ticket) -> None:
        """Put a ticket behind the others of its asker."""
        group = self._waiting.setdefault(asker.group, {})
        group.setdefault(asker.one, deque()).append(ticket)

    def leave(self, asker: ShareHolder, ticket: Ticket) -> None:
        """Take a ticket out; one that is not there is no error."""
        group = self._waiting.get(asker.group, {})
        tickets = group.get(asker.one)
        if tickets is None or ticket not in tickets:
            return
        tickets.remove(ticket)
        if not tickets:
            del group[asker.one]
        if not group:
            del self._waiting[asker.group]

    def deal(self) -> tuple[ShareHolder, Ticket] | None:
        """Give a place to whose turn it is; returns them with their ticket, or None."""
        for name, group in self._waiting.items():
            if not self._group_can_take(name):
                continue
            for one in group:
                asker = ShareHolder(name, one)
                if self.can_take(asker):
                    self.take(asker)
                    return asker, self._next_ticket(asker)
        return None

    def _group_can_take(self, group: str) -> bool:
        if self._free > self._for_new_groups:
            return True
        return self._free > 0 and group not in self._held_by_group

    def _next_ticket(self, asker: ShareHolder) -> Ticket:
        """Return the asker's first ticket, and let the others of its group, and groups, go first."""
        group = self._waiting.pop(asker.group)
        tickets = group.pop(asker.one)
        ticket = tickets.popleft()
        if tickets:
            group[asker.one] = tickets
        if group:
            self._waiting[asker.group] = group
        return ticket
