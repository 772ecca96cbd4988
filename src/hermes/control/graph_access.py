"""Orders to show or export conversations: what was said is read from the files, the order goes on record.

Whoever gives one reads the graphs themselves, beside the gateway, so that a long export stops nobody;
here it is only checked and put on record whose conversations they are.
"""

from collections.abc import Iterable

import msgspec

from hermes.errors import BadRequest
from hermes.ports.graph_reader import GraphEntry

_MOST_NAMED = 20
_MORE = "more"
EVERYBODY = "all"


class GraphsOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The wish to read conversations of some people; `all` is everybody."""

    people: tuple[str, ...]
    by: str = ""


class GraphsReport(msgspec.Struct, frozen=True, kw_only=True):
    """That it is on record."""

    text: str = "It is on record."


def people_of(entries: Iterable[GraphEntry]) -> tuple[str, ...]:
    """Return whose conversations some graphs are, as they are put on record: the first twenty."""
    people = tuple(dict.fromkeys(one for entry in entries for one in entry.people))
    return people if len(people) <= _MOST_NAMED else (*people[:_MOST_NAMED], _MORE)


class GraphOperations:
    """Where orders to read conversations arrive."""

    async def show(self, order: GraphsOrder) -> GraphsReport:
        """Let conversations be shown."""
        return _noted(order)

    async def export(self, order: GraphsOrder) -> GraphsReport:
        """Let conversations be written into a file."""
        return _noted(order)


def _noted(order: GraphsOrder) -> GraphsReport:
    if len(order.people) > _MOST_NAMED + 1:
        raise BadRequest(
            f"At most {_MOST_NAMED} people can be named, found {len(order.people)}; "
            f"name {EVERYBODY!r} for everybody."
        )
    return GraphsReport()
