"""The command line over the twin of a shelf, for tests: run it with the arguments of `hermes`.

Everything is real but where the graphs are. The first argument may be `damaged`: then a message of
bob is lost, and one of ann's old ones is erased. If it is `ended`, somebody ends the command while
it reads the second graph.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

from hermes.cli.commands import run
from hermes.cli.failure import run_guarded
from hermes.control.graph_access import GraphOperations
from hermes.errors import PersonErased
from hermes.graph import MemoryStorage, MessageGraph
from tests.unit.control.memory_graph_reader import MemoryGraphReader, a_graph_reader


class Spoiled(MemoryStorage):
    def __init__(self, kept: MemoryStorage, *, erased: bool) -> None:
        self.__dict__.update(kept.__dict__)
        self._erased = erased

    def get_blobs(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
        if self._erased:
            raise PersonErased("The data key of this person was destroyed.")
        return {name: data for name, data in super().get_blobs(ids).items() if b"2+2" not in data}


def required_graph_reader(*, is_damaged: bool) -> MemoryGraphReader:
    reader = a_graph_reader()
    if is_damaged:
        for name, erased in (("bob#0", False), ("ann#0", True)):
            full = f"agent:main:rest:dm:{name}"
            reader.storages[full] = Spoiled(reader.storages[full], erased=erased)
    return reader


class Ended(MemoryGraphReader):
    def __init__(self, kept: MemoryGraphReader) -> None:
        self.__dict__.update(kept.__dict__)
        self._opened = 0

    def open(self, name: str, *, branch: str = "main") -> MessageGraph:
        self._opened += 1
        if self._opened == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return super().open(name, branch=branch)


class Unaudited:
    """Runs the orders about graphs without a record."""

    # Any: an order of the table and its request.
    async def give(self, order: Any, request: Any) -> object:
        operations: Any = SimpleNamespace(part=lambda *_name, **_order: GraphOperations())
        return await order.run(operations, request, None)


def run_here(_loaded: object, work: Callable[..., Any], *, empty: object, logs: bool) -> object:
    """Let conversations be read; what is on record of it is tested over real files."""
    return asyncio.run(work(Unaudited()))


def main(arguments: list[str]) -> int:
    is_damaged, is_ended = arguments[:1] == ["damaged"], arguments[:1] == ["ended"]

    @contextmanager
    def open_graph_reader(_loaded: object) -> Iterator[MemoryGraphReader]:
        reader = required_graph_reader(is_damaged=is_damaged)
        yield Ended(reader) if is_ended else reader

    # The command line loads this module by its name, when it needs the files.
    offline = ModuleType("hermes.cli.offline")
    offline.open_graph_reader = open_graph_reader  # type: ignore[attr-defined]
    offline.run_here = run_here  # type: ignore[attr-defined]
    sys.modules["hermes.cli.offline"] = offline
    return run_guarded(lambda: run(arguments[is_damaged or is_ended :]), {})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
