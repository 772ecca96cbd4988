"""The journal's files while no gateway runs, read-only, for `status` and `why`.

Loaded by name only then: it brings the whole composition root with it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from hermes.app import offline_store
from hermes.config import Loaded
from hermes.ports.store import Store


@contextmanager
def open_store(loaded: Loaded) -> Iterator[Store | None]:
    """Open the journal read-only; None when there is none yet."""
    with offline_store(loaded) as store:
        yield store
