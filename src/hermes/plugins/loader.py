"""Loads plugins: a folder, a module by name, or the entry point of an installed package.

Only plugins listed in the setting `plugins` are loaded; a package that is merely installed does
nothing. Each has `register(registry)`. If a plugin fails to load, the start fails with the line of
the error: skipping it could silently remove a guard, such as a hook.
"""

import importlib
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from hermes.config.plugin_files import PLUGIN_GROUP, plugin_manifests
from hermes.errors import ConfigurationError, HermesError
from hermes.plugins.code_loader import import_file
from hermes.plugins.faults import fault_text
from hermes.plugins.registry import Registry
from hermes.plugins.requirements import Requirements, read_requirements

GROUP = PLUGIN_GROUP


def load_plugin(name: str, registry: Registry, *, home: Path) -> None:
    """Import one plugin and call its `register`; a folder is relative to `home`."""
    try:
        _register_of(name, _find(name, home))(registry)
    except HermesError:
        raise
    # Boundary of a foreign module: it may raise anything.
    except Exception as error:
        missing = _missing(name, home)
        fix = f"{missing[0].upper()}{missing[1:]}" if missing else "Correct it"
        raise ConfigurationError(
            f"plugins: {name!r} does not load: {fault_text(error)}. {fix}, or remove it from "
            "`plugins`. The gateway does not start, because the plugin may contain a safeguard."
        ) from error


def _missing(name: str, home: Path) -> str:
    """Return what a plugin's manifests require and the machine lacks, and how it is installed."""
    said = (read_requirements(file) for file in plugin_manifests([name], home).values())
    problems = (one.problem() for one in said if isinstance(one, Requirements))
    return next((problem for problem in problems if problem), "")


def _find(name: str, home: Path) -> object:
    if "/" in name:
        return _from_folder(home / Path(name).expanduser(), home=home)
    point = _entry_point(name)
    return _from_name(name) if point is None else _from_entry_point(point)


def installed_plugins() -> Mapping[str, str]:
    """Return the plugins of installed packages, each with its package; none is imported."""
    return {point.name: _package(point) for point in entry_points(group=GROUP)}


def _register_of(name: str, found: object) -> Callable[[Registry], None]:
    """Return the register function: a module's `register`, or the entry point's object."""
    register = getattr(found, "register", found)
    if isinstance(register, ModuleType) or not callable(register):
        raise ConfigurationError(
            f"plugins: {name!r} has no function register(registry); "
            "a plugin registers its channels, providers, tools and vision pipelines there"
        )
    return register


def _entry_point(name: str) -> EntryPoint | None:
    found = tuple(entry_points(group=GROUP, name=name))
    if len(found) > 1:
        packages = " and ".join(sorted(map(_package, found)))
        raise ConfigurationError(
            f"plugins: {name!r} is the name of plugins of {packages}; uninstall one of them, or "
            "list the module of the one that is meant"
        )
    return found[0] if found else None


def _from_entry_point(point: EntryPoint) -> object:
    try:
        return point.load()
    except (ImportError, AttributeError, SyntaxError) as error:
        raise ConfigurationError(
            f"plugins: {point.name!r} of {_package(point)} does not load: {fault_text(error)}. "
            "Reinstall it, or remove it from `plugins`"
        ) from error


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def _from_name(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # A missing import inside the module is the module's fault, reported with its line.
        if error.name != name and not name.startswith(f"{error.name}."):
            raise
        raise ConfigurationError(
            f"plugins: module {name!r} cannot be imported ({error}); "
            "install it into the same environment, or remove it from `plugins`"
        ) from error


def _from_folder(folder: Path, *, home: Path) -> ModuleType:
    file = folder / "__init__.py"
    if not file.is_file():
        raise ConfigurationError(
            f"plugins: the folder {str(folder)!r} holds no __init__.py; name a plugin's folder"
        )
    return import_file(f"hermes_plugin_{folder.name}", file, home=home)
