"""Loads tools from the configured modules: every function with `@tool` in them."""

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from hermes.errors import ConfigurationError, HermesError
from hermes.plugins.code_loader import import_file
from hermes.plugins.registry import Registry
from hermes.tools.function_tool import FunctionTool


def load_tools(names: Iterable[str], registry: Registry, *, home: Path) -> None:
    """Register the tools of each module; a relative path of a `.py` file starts at `home`."""
    for name in names:
        is_file = name.endswith(".py")
        module = _from_file(name, home) if is_file else _from_name(name)
        found = [value for value in vars(module).values() if isinstance(value, FunctionTool)]
        if not found:
            raise ConfigurationError(
                f"tools.modules: {name!r} contains no tool; put @tool (from hermes.tools import "
                "tool) above the functions that a model may call, or remove it from the list"
            )
        for tool in found:
            registry.tool(tool)


def _from_name(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except HermesError:
        raise
    except Exception as error:  # boundary of a foreign module: it may raise anything
        raise ConfigurationError(
            f"tools.modules: {name!r} cannot be imported ({_told(error)}); install it into the same "
            "environment, give the path of its .py file, or correct it"
        ) from error


def _from_file(named: str, home: Path) -> ModuleType:
    path = home / Path(named).expanduser()
    # The full path names the module: two files may both be called tools.py.
    name = f"hermes_tools_{path.resolve().as_posix().removesuffix('.py').replace('/', '_')}"
    if name in sys.modules:
        return sys.modules[name]
    if not path.is_file():
        raise ConfigurationError(
            f"tools.modules: there is no file {str(path)!r}; a relative path starts at the home "
            "folder"
        )
    try:
        return import_file(name, path, home=home)
    except HermesError:
        raise
    except Exception as error:  # boundary of a foreign module: it may raise anything
        raise ConfigurationError(
            f"tools.modules: {str(path)!r} does not load ({_told(error)}); correct the file"
        ) from error


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
