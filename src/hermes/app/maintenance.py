"""What a core does beside turns for its chats: old conversations are pruned, chats known by name."""

from collections.abc import Callable, Iterable

from hermes.config import Settings
from hermes.ports.channel import Channel
from hermes.ports.clock import Clock
from hermes.ports.search import Search
from hermes.ports.store import Store
from hermes.schedule.directory_watch import DirectoryWatch
from hermes.schedule.pruning import Pruning


def make_chores(
    store: Store,
    settings: Settings,
    *,
    search: Search | None,
    connected: Callable[[], Iterable[Channel]],
    clock: Clock,
) -> tuple[Pruning, DirectoryWatch]:
    """Return what prunes, and what keeps the directory of chats."""
    pruning = Pruning(
        store.pruning,
        days=settings.sessions.prune_days,
        forget=None if search is None else search.pruned,
        clock=clock,
    )
    return pruning, DirectoryWatch(store.directory, connected=connected, clock=clock)
