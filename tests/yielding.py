"""A store whose methods always let others run, before they read and after.

SQLite answers at once, so code between two reads runs as if it were alone. A store on another machine
does not: whatever waits for it may find the world changed. `make test-yielding` runs the tests so.
"""

import asyncio
import functools
import inspect
import os
import pkgutil
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import ParamSpec, TypeVar

from hermes.store import sql, sqlite
from hermes.store.sqlite.tx import SqliteReads, SqliteTx

VARIABLE = "HERMES_TEST_YIELDING"
# What is given a transaction or a connection runs inside a unit of work.
_INSIDE = frozenset({"tx", "db"})
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def make_reads_yield() -> int:
    """Change every part of the store, if the environment asks for it; return how many methods."""
    if not os.environ.get(VARIABLE):  # noqa: TID251  the environment of the test run
        return 0
    changed = _change_reads()
    for package in (sql, sqlite):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            changed += _change_module(module.name)
    return changed


def _change_reads() -> int:
    """Let every read outside a unit of work wait; inside one the transaction is waited for."""
    names = [name for name, one in vars(SqliteReads).items() if inspect.iscoroutinefunction(one)]
    for name in names:
        method = vars(SqliteReads)[name]
        setattr(SqliteReads, name, _yielding(method))
        setattr(SqliteTx, name, method)
    return len(names)


def _change_module(module: str) -> int:
    parts = [
        part
        for name, part in vars(import_module(module)).items()
        if name.startswith("Sql") and isinstance(part, type) and part.__module__ == module
    ]
    return sum(_change(part) for part in parts if not issubclass(part, SqliteReads))


def _change(part: type) -> int:
    methods = [
        (name, method)
        for name, method in vars(part).items()
        if not name.startswith("_")
        and inspect.iscoroutinefunction(method)
        and not _INSIDE.intersection(inspect.signature(method).parameters)
    ]
    for name, method in methods:
        setattr(part, name, _yielding(method))
    return len(methods)


def _yielding(
    method: Callable[_Given, Awaitable[_Result]],
) -> Callable[_Given, Awaitable[_Result]]:
    @functools.wraps(method)
    async def slow(*given: _Given.args, **named: _Given.kwargs) -> _Result:
        await asyncio.sleep(0)
        result = await method(*given, **named)
        await asyncio.sleep(0)
        return result

    return slow
