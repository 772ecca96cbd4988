"""Functions and names that are imported when they are first used: a start pays only for what it uses.

The module that is named must also be imported under `TYPE_CHECKING`, so that mypy knows the
function's type and import-linter the dependency; a test compares the two.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


# Any: the function has the type that the import under TYPE_CHECKING gives it.
def lazy(name: str) -> Callable[..., Any]:
    """Return a stand-in for the function or class `module:name`."""
    module, _, attribute = name.partition(":")

    @cache
    def loaded() -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(import_module(module), attribute)
        return found

    def call(*arguments: Any, **named: Any) -> Any:
        return loaded()(*arguments, **named)

    return call


def late_names(module: dict[str, Any], **homes: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module, whose globals are given, for names from other modules."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module['__name__']!r} has no attribute {name!r}")
        module[name] = getattr(import_module(homes[name]), name)
        return module[name]

    return find
