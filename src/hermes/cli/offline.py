"""Opens the journal's files for commands that work without a gateway.

Imported by name only when used, because it imports the whole composition root.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TypeVar

import msgspec

from hermes.app import offline_graph_reader, offline_operator, offline_store
from hermes.cli.who import operator_name
from hermes.config import LoadedConfig
from hermes.control.audited import Operator
from hermes.ops.logs import plan_of, secrets_in, set_up
from hermes.ports.clock import SystemClock
from hermes.ports.person_rows import HomeReader
from hermes.ports.store import Store

_Answer = TypeVar("_Answer")


@contextmanager
def open_store(loaded: LoadedConfig) -> Iterator[Store | None]:
    """Open the journal read-only; None if there is none yet."""
    with offline_store(loaded) as store:
        yield store


@contextmanager
def open_graph_reader(loaded: LoadedConfig) -> Iterator[HomeReader | None]:
    """Open the graphs, also while a gateway runs; None if nothing is stored yet."""
    with offline_graph_reader(loaded) as reader:
        yield reader


def run_here(
    loaded: LoadedConfig,
    work: Callable[[Operator], Awaitable[_Answer]],
    *,
    empty: Callable[[], _Answer] | None,
    logs: bool,
) -> _Answer:
    """Run orders as the gateway would; return `empty` if the home stores nothing yet.

    Without `empty` the order writes, and creates the journal if there is none. With `logs` log
    lines go to a file.
    """

    async def answer(operator: Operator) -> _Answer:
        return await work(operator)

    with offline_operator(loaded, create=empty is None, operator=operator_name()) as operator:
        if operator is None:
            assert empty is not None
            return empty()
        with logs_in_a_file(loaded) if logs or empty is None else nullcontext():
            return asyncio.run(answer(operator))


@contextmanager
def logs_in_a_file(loaded: LoadedConfig, name: str = "commands.log") -> Iterator[None]:
    """Log to a file below `logs`, so that actions without a gateway are recorded too."""
    plan = plan_of(loaded.settings.logs, loaded.home)
    plan = msgspec.structs.replace(plan, file=loaded.home / "logs" / name)
    with Path(os.devnull).open("wb") as nowhere:
        logs = set_up(plan, secrets_in(loaded.settings), clock=SystemClock(), stream=nowhere)
        try:
            yield
        finally:
            logs.close()
