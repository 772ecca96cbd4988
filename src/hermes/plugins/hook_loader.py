"""Loads hooks: the handler of a folder, or the entry point of an installed package."""

import inspect
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from hermes.config.code_files import check_code
from hermes.config.hook_files import FILE, HookFile
from hermes.errors import ConfigurationError
from hermes.plugins.code_loader import import_file
from hermes.ports.hooks import Hook, problem_of

GROUP = "hermes.hooks"
_WRITE_ONE = "write async def handle(event_type, context)"


def load_hook(file: HookFile, *, home: Path) -> Hook:
    """Import the handler of a folder and return its hook."""
    said = file.said
    check_code(file.handler.with_name(FILE), home=home)
    # Any: whether it is a coroutine function is checked below.
    handle: Any = getattr(_import(file.name, file.handler, home), "handle", None)
    return checked(
        Hook(
            name=file.name,
            events=said.events,
            handle=handle,
            description=said.description,
            timeout_s=said.timeout,
            decides=said.decides,
            text=said.text,
            place=str(file.handler),
        )
    )


def installed_hooks() -> list[Hook]:
    """Return the hooks that installed packages offer as entry points."""
    return [_of_entry_point(point.name, point.load()) for point in entry_points(group=GROUP)]


def checked(hook: Hook) -> Hook:
    """Return a hook if it can be called; raises `ConfigurationError`."""
    if not _is_coroutine_function(hook.handle):
        raise ConfigurationError(
            f"the hook {hook.name!r} of {hook.place} has no coroutine function handle; {_WRITE_ONE}"
        )
    problem = problem_of(hook.events, decides=hook.decides)
    if problem is not None:
        raise ConfigurationError(
            f"the hook {hook.name!r} of {hook.place}: {problem[0]}; {problem[1]}"
        )
    return hook


def _is_coroutine_function(handle: object) -> bool:
    """Return whether a call returns an awaitable; an object may have such a `__call__`."""
    own = vars(type(handle)).get("__call__")
    return inspect.iscoroutinefunction(handle) or inspect.iscoroutinefunction(own)


def _of_entry_point(name: str, found: object) -> Hook:
    if not isinstance(found, Hook):
        raise ConfigurationError(
            f"the entry point {name!r} of {GROUP} is a {type(found).__name__}, expected a "
            "hermes.ports.hooks.Hook; uninstall its package, or set hooks.entry_points to false"
        )
    return checked(found)


def _import(name: str, path: Path, home: Path) -> ModuleType:
    try:
        return import_file(f"hermes_hook_{name.replace('-', '_')}", path, home=home)
    except ConfigurationError:
        raise
    # Boundary of the operator's own code: whatever it raises, the gateway says where.
    except Exception as error:
        raise ConfigurationError(
            f"hooks: {path} does not load ({type(error).__name__}: {error}); correct it, or remove "
            "its folder"
        ) from error
