"""Loads a part of the command line when it is used, by its name as text.

`hermes up` must start without typer and rich, and `hermes stop` without the whole server; with
plain imports each command would pay for all of them.
"""

from importlib import import_module
from typing import Any


# Any: what is loaded has the type that its module gives it; the caller knows which it asked for.
def load_named(name: str) -> Any:
    """Return the object that `module:object` names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
