"""The journal's files while no gateway runs: opened only when the OS lock is free."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from hermes.app.core import DATABASE, open_store
from hermes.config import Loaded
from hermes.message.ids import make_id
from hermes.ops.instance import acquire
from hermes.ports.clock import SystemClock
from hermes.ports.store import Store


@contextmanager
def offline_store(loaded: Loaded) -> Iterator[Store | None]:
    """Open the journal of a home for reading; None when there is none yet."""
    if not (loaded.home / DATABASE).exists():
        yield None
        return
    instance = acquire(loaded.home)
    try:
        store = open_store(loaded.home, loaded.settings, clock=SystemClock(), make_id=make_id)
        try:
            yield store
        finally:
            asyncio.run(store.close())
    finally:
        instance.release()
