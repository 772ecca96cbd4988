"""Imports structlog and uvicorn without the modules that only command lines need.

The server needs no terminal colours, no option parser and no reloading: leaving out rich, click and
the like saves 50 ms of start and 7 MB. Hermes does not use greenlets; other programs in the same
environment may have installed that package.
"""

import sys
from importlib import import_module
from types import ModuleType

_HIDDEN = ("rich", "greenlet")
_UVICORN_CLI = "uvicorn.main"


def import_lean() -> None:
    """Import both; call this before anything else imports them."""
    if "structlog" not in sys.modules and "rich" not in sys.modules:
        _import_structlog()
    if "uvicorn" not in sys.modules:
        _import_uvicorn()


def _import_structlog() -> None:
    hidden = [name for name in _HIDDEN if name not in sys.modules]
    # None under a name makes `import` of it fail, which structlog takes as "not installed".
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        import_module("structlog")
    finally:
        for name in hidden:
            del sys.modules[name]


def _import_uvicorn() -> None:
    """Import uvicorn without its command line; `uvicorn.run` still works on demand."""
    absent = ModuleType(_UVICORN_CLI)
    names = ("Server", "main", "run")
    vars(absent).update(dict.fromkeys(names))
    sys.modules[_UVICORN_CLI] = absent
    try:
        package = vars(import_module("uvicorn"))
    finally:
        del sys.modules[_UVICORN_CLI]
    for name in names:
        del package[name]
    # A module's own `__getattr__` is called for the names that it lacks.
    package["__getattr__"] = _from_command_line


def _from_command_line(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module(_UVICORN_CLI), name)
