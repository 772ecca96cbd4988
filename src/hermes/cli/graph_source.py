"""How the graph commands read graphs: with a `GraphReader`, also while a gateway runs.

Showing what people wrote is recorded in the audit log first.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hermes.cli.environment import home_for, settings_for
from hermes.cli.operator_calls import call, operator_name
from hermes.cli.terminal import Home
from hermes.control.graph_access import EVERYBODY, GraphsOrder, people_of
from hermes.control.orders import GRAPHS_EXPORT, GRAPHS_SHOW
from hermes.errors import NotFound
from hermes.lazy import lazy
from hermes.ports.graph_reader import GraphEntry
from hermes.ports.person_rows import HomeReader

if TYPE_CHECKING:
    from hermes.cli.offline import open_graph_reader
else:
    open_graph_reader = lazy("hermes.cli.offline:open_graph_reader")


@contextmanager
def any_graph_reader(home: Home) -> Iterator[HomeReader | None]:
    """Open the graphs of a home; None if nothing is stored yet."""
    if not home_for(home).exists():
        yield None
        return
    with open_graph_reader(settings_for(home)) as reader:
        yield reader


@contextmanager
def required_graph_reader(home: Home) -> Iterator[HomeReader]:
    """Open the graphs of a home; raises NotFound if nothing is stored yet."""
    with any_graph_reader(home) as reader:
        if reader is None:
            raise NotFound(
                f"Nothing is stored in {home_for(home)} yet: `hermes chat` starts a conversation, and "
                "--home selects another home."
            )
        yield reader


def note_shown(home: Home, entries: Iterable[GraphEntry]) -> None:
    """Record in the audit log that conversations are shown."""
    order = GraphsOrder(people=people_of(entries), by=operator_name())
    call(home, GRAPHS_SHOW, order)


def note_exported(home: Home, entries: Iterable[GraphEntry], *, every: bool) -> None:
    """Record in the audit log that conversations are exported to a file."""
    people = (EVERYBODY,) if every else people_of(entries)
    order = GraphsOrder(people=people, by=operator_name())
    call(home, GRAPHS_EXPORT, order)
