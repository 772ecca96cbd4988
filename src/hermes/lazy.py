"""Functions that are imported when they are first called: a start pays only for what it uses.

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
