"""Fair shares: who gets the next slot if many ask, so that one asker never gets all.

Slots are given to groups in turn (the platform account, token or key that people come through),
then to askers within a group. So a token that invents senders gets only one group's turn. Knows
neither models nor tasks.
"""

from collections import deque
from typing import Generic, NamedTuple, TypeVar

_FEW = 3
Ticket = TypeVar("Ticket")


class ShareHolder(NamedTuple):
    """Who asks: `one` is a person or a key, `group` the account, token or key they come through.

    A person who comes through several groups is `one` in each of them.
    """

    group: str
    one: str


class Shares(Generic[Ticket]):
    """Gives out `places`; one asker has at most `each` of them.

    The last tenth, and at least three (a fifth if there are fewer than 15), is for groups that have
    none: one each. As many again are for askers that have none. So a group that holds its slots for
    long blocks neither other groups nor, for a while, its own newcomers.
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
        """Return True if there is a slot for the asker now.

        This passes over no waiter: whoever could have the slot has it already.
        """
        held = self._held.get(asker.one, 0)
        return (
            self._group_can_take(asker.group)
            and held < self._each
            and (not held or self._free > self._for_new_askers)
        )

    def take(self, asker: ShareHolder) -> None:
        """Give a slot to an asker that can take one."""
        self._free -= 1
        self._held[asker.one] = self._held.get(asker.one, 0) + 1
        self._held_by_group[asker.group] = self._held_by_group.get(asker.group, 0) + 1

    def release(self, asker: ShareHolder) -> None:
        """Take a slot back; `deal` decides who gets it."""
        self._free += 1
        self._held[asker.one] -= 1
        if not self._held[asker.one]:
            del self._held[asker.one]
        self._held_by_group[asker.group] -= 1
        if not self._held_by_group[asker.group]:
            del self._held_by_group[asker.group]

    def wait(self, asker: ShareHolder, ticket: Ticket) -> None:
        """Queue a ticket behind the others of its asker."""
        group = self._waiting.setdefault(asker.group, {})
        group.setdefault(asker.one, deque()).append(ticket)

    def leave(self, asker: ShareHolder, ticket: Ticket) -> None:
        """Remove a ticket; a missing one is no error."""
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
        """Give a slot to the next in turn; return the asker and its ticket, or None."""
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
        """Return the asker's first ticket; the asker and its group go to the end of the line."""
        group = self._waiting.pop(asker.group)
        tickets = group.pop(asker.one)
        ticket = tickets.popleft()
        if tickets:
            group[asker.one] = tickets
        if group:
            self._waiting[asker.group] = group
        return ticket
