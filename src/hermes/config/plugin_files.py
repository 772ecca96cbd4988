"""The manifests of listed plugins, found and read without running any of their code.

Part of config, because a plugin's manifest names variables: `layers` reads those as it reads the
well-known ones. What cannot be read is left out here; loading the plugin reports it.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

from hermes.config.variables import PREFIX, WELL_KNOWN, WellKnownVariable

PLUGIN_GROUP: Final = "hermes.plugins"
_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9_]{1,63}")
_PLATFORM: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_MOST_FILES: Final = 32
_MOST_BYTES: Final = 262_144


def plugin_manifests(plugins: Iterable[str], home: Path) -> Mapping[str, Path]:
    """Return the manifests of plugins by platform: the TOML files beside the code of each."""
    return {name: path for name, path, _ in _tables(plugins, home)}


def plugin_variables(plugins: Iterable[str], home: Path) -> Mapping[str, WellKnownVariable]:
    """Return the variables that manifests of plugins name, each with the key that it sets.

    A plugin cannot take a variable that already means something else.
    """
    rows: dict[str, WellKnownVariable] = {}
    for name, _, table in _tables(plugins, home):
        for row in _rows(name, table):
            is_free = row.name not in WELL_KNOWN and not row.name.startswith(PREFIX)
            if is_free and _VARIABLE.fullmatch(row.name):
                rows.setdefault(row.name, row)
    return rows


# Any: what a TOML file holds.
def _rows(name: str, table: Mapping[str, Any]) -> Iterator[WellKnownVariable]:
    settings = table.get("settings")
    for setting, one in settings.items() if isinstance(settings, Mapping) else ():
        if isinstance(one, Mapping) and isinstance(one.get("env"), str):
            enables = name if one.get("enables") is True else None
            yield WellKnownVariable(one["env"], ("platforms", name, "extra", str(setting)), enables)
    home_channel = table.get("home_channel_env")
    if isinstance(home_channel, str):
        yield WellKnownVariable(home_channel, ("platforms", name, "home_channel"))


def _tables(plugins: Iterable[str], home: Path) -> Iterator[tuple[str, Path, Mapping[str, Any]]]:
    """Yield the platform, the file and the content of every manifest."""
    for plugin in plugins:
        folder = plugin_folder(plugin, home)
        files = [] if folder is None else sorted(folder.glob("*.toml"))[:_MOST_FILES]
        for file in files:
            table = _table(file)
            name = table.get("name")
            if isinstance(name, str) and _PLATFORM.fullmatch(name) and "capabilities" in table:
                yield name, file, table


def _table(file: Path) -> Mapping[str, Any]:
    try:
        with file.open("rb") as opened:
            return tomllib.loads(opened.read(_MOST_BYTES).decode())
    except (OSError, ValueError):
        return {}


def plugin_folder(plugin: str, home: Path) -> Path | None:
    """Return the folder with a plugin's code; None if it is not found."""
    if "/" in plugin:
        return home / Path(plugin).expanduser()
    try:
        points = tuple(entry_points(group=PLUGIN_GROUP, name=plugin))
        spec = _spec(points[0].module if points else plugin)
    except (ImportError, ValueError, OSError, AttributeError):
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def _spec(module: str) -> ModuleSpec | None:
    """Find a module as an import would, but import none of its parents."""
    spec: ModuleSpec | None = None
    path: list[str] | None = None
    for end in range(1, module.count(".") + 2):
        spec = PathFinder.find_spec(".".join(module.split(".")[:end]), path)
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or ())
    return spec
