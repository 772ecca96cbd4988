"""How the commands about graphs reach them: through a `GraphReader`, beside a gateway that may run.

What they show of what people said goes on record before it is shown.
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
from hermes.ports.graph_reader import GraphEntry, GraphReader

if TYPE_CHECKING:
    from hermes.cli.offline import open_shelf
else:
    open_shelf = lazy("hermes.cli.offline:open_shelf")


@contextmanager
def any_shelf(home: Home) -> Iterator[GraphReader | None]:
    """Open the graphs of a home; None where nothing is stored yet."""
    if not home_for(home).exists():
        yield None
        return
    with open_shelf(settings_for(home)) as shelf:
        yield shelf


@contextmanager
def the_shelf(home: Home) -> Iterator[GraphReader]:
    """Open the graphs of a home; raises NotFound where nothing is stored yet."""
    with any_shelf(home) as shelf:
        if shelf is None:
            raise NotFound(
                f"Nothing is stored in {home_for(home)} yet: `hermes chat` begins a conversation, "
                "and --home names another home."
            )
        yield shelf


def note_shown(home: Home, entries: Iterable[GraphEntry]) -> None:
    """Put on record that conversations are shown."""
    order = GraphsOrder(people=people_of(entries), by=operator_name())
    call(home, GRAPHS_SHOW, order)


def note_exported(home: Home, entries: Iterable[GraphEntry], *, every: bool) -> None:
    """Put on record that conversations are written into a file."""
    people = (EVERYBODY,) if every else people_of(entries)
    order = GraphsOrder(people=people, by=operator_name())
    call(home, GRAPHS_EXPORT, order)
