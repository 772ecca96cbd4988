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

from hermes import store

VARIABLE = "HERMES_TEST_YIELDING"
# What every engine shares is called Sql.., and what is one's own by the engine's name.
_PREFIX = "Sql"
# The search index has threads of its own, whatever the engine is.
_NO_STORE = {"hermes.store.search"}
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def make_reads_yield() -> int:
    """Change every part of the store, if the environment asks for it; return how many methods."""
    if not os.environ.get(VARIABLE):  # noqa: TID251  the environment of the test run
        return 0
    return sum(
        _change(part)
        for package in pkgutil.iter_modules(store.__path__, f"{store.__name__}.")
        if package.name not in _NO_STORE
        for part in _parts(package.name)
    )


def _parts(package: str) -> list[type]:
    """Return the classes that make up a store, by their name."""
    modules = pkgutil.iter_modules(import_module(package).__path__, f"{package}.")
    return [
        part
        for module in modules
        for name, part in vars(import_module(module.name)).items()
        if name.startswith(_PREFIX) and part.__module__ == module.name
    ]


def _change(part: type) -> int:
    methods = [
        (name, method)
        for name, method in vars(part).items()
        if not name.startswith("_") and inspect.iscoroutinefunction(method)
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
