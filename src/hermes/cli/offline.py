"""The journal's files for the commands that can do without a gateway.

Loaded by name only when they are used: it brings the whole composition root with it.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from hermes.app import offline_desk, offline_shelf, offline_store
from hermes.cli.who import operator_name
from hermes.config import Loaded
from hermes.control.operations import Operations
from hermes.ops.logs import plan_of, secrets_in, set_up
from hermes.ports.clock import SystemClock
from hermes.ports.graph_reader import GraphReader
from hermes.ports.store import Store

_Answer = TypeVar("_Answer")


@contextmanager
def open_store(loaded: Loaded) -> Iterator[Store | None]:
    """Open the journal read-only; None when there is none yet."""
    with offline_store(loaded) as store:
        yield store


@contextmanager
def open_shelf(loaded: Loaded) -> Iterator[GraphReader | None]:
    """Open the graphs, beside a gateway too; None when nothing is stored yet."""
    with offline_shelf(loaded) as shelf:
        yield shelf


def at_desk(
    loaded: Loaded,
    work: Callable[[Operations], Awaitable[_Answer]],
    *,
    empty: Callable[[], _Answer] | None,
) -> _Answer:
    """Do what the gateway would do; `empty` is the answer of a home where nothing is stored yet.

    Without it there is something to write, and a home without a journal gets one.
    """

    async def answer(desk: Operations) -> _Answer:
        return await work(desk)

    with offline_desk(loaded, create=empty is None, operator=operator_name()) as desk:
        if empty is not None:
            return empty() if desk is None else asyncio.run(answer(desk))
        assert desk is not None
        with logs_in_a_file(loaded):
            return asyncio.run(answer(desk))


@contextmanager
def logs_in_a_file(loaded: Loaded) -> Iterator[None]:
    """Who did what stays on record without a gateway too: in `logs/commands.log`."""
    plan = plan_of(loaded.settings.logs, loaded.home)
    plan = msgspec.structs.replace(plan, file=loaded.home / "logs" / "commands.log")
    with Path(os.devnull).open("wb") as nowhere:
        logs = set_up(plan, secrets_in(loaded.settings), clock=SystemClock(), stream=nowhere)
        try:
            yield
        finally:
            logs.close()
