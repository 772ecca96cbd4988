"""Completes settings and their values, from the JSON Schema of config.yaml that comes along.

It runs at a Tab, so it imports no settings; names of agents, providers and other entries are those
in the home's config.yaml.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

_SCHEMA = "config.schema.json"
_CONFIG = "config.yaml"
# A larger file is not read while somebody waits for a Tab.
_LARGEST = 1_000_000
_BOOLS = ("true", "false")


class SettingNames:
    """The settings of one home.

    `platforms` has the settings of each platform that comes along, with the words each takes.
    """

    def __init__(self, home: Path, platforms: Mapping[str, Mapping[str, list[str]]]) -> None:
        # Below `hermes`: to name `hermes.config` would import all settings.
        file = resources.files("hermes").joinpath("config", _SCHEMA)
        # Any, here and below: pieces of JSON and YAML.
        self._root: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        self._platforms = platforms
        self._home = home
        self._read: Any = None

    def beginning_with(self, part: str) -> Iterator[str]:
        """Yield the settings that begin with a part."""
        yield from self._below(self._root, "", part)

    def values(self, name: str) -> tuple[str, ...]:
        """Return the words that a setting takes; none if it takes any value."""
        node, rest = self._root, name
        while rest:
            found = next(self._steps(node, name.removesuffix(rest), rest), None)
            if found is None:
                return ()
            node, rest = found
        return _words(node)

    def _steps(self, node: Any, path: str, rest: str) -> Iterator[tuple[Any, str]]:
        """Yield what is one step down, for each way to split the rest of a dotted name."""
        for name, child in self._children(node, path, rest):
            if rest == name or rest.startswith(f"{name}."):
                yield child, rest[len(name) + 1 :]

    def _below(self, node: Any, path: str, part: str) -> Iterator[str]:
        for name, child in self._children(node, path, part.removeprefix(path)):
            whole = f"{path}{name}"
            if not (whole.startswith(part) or part.startswith(f"{whole}.")):
                continue
            inner = list(self._below(child, f"{whole}.", part))
            if inner or _is_table(child):
                yield from inner
            elif whole.startswith(part):
                yield whole

    def _children(self, node: Any, path: str, rest: str) -> Iterator[tuple[str, Any]]:
        table = _table_of(node)
        for name, child in table.get("properties", {}).items():
            if path or not _is_short_form(child):
                yield name, child
        entry = table.get("additionalProperties")
        if isinstance(entry, dict):
            yield from ((name, entry) for name in self._entries(path, rest))
        elif _is_platform_table(path):
            known = self._platforms.get(path.split(".")[1], {})
            yield from ((name, {"enum": words}) for name, words in known.items())

    def _entries(self, path: str, rest: str) -> Iterable[str]:
        """Return names of entries: those of the home, of platforms, and the one that was typed."""
        known = dict.fromkeys(self._in_home(path))
        if path == "platforms.":
            known |= dict.fromkeys(self._platforms)
        typed, dot, _ = rest.partition(".")
        if dot and not any(rest.startswith(f"{one}.") for one in known):
            known[typed] = None
        return known

    def _in_home(self, path: str) -> Iterable[str]:
        table = self._config()
        for name in path.split(".")[:-1]:
            table = table.get(name) if isinstance(table, dict) else None
        return [one for one in table if isinstance(one, str)] if isinstance(table, dict) else []

    def _config(self) -> Any:
        if self._read is None:
            self._read = _tree_of(self._home / _CONFIG)
        return self._read


def _tree_of(file: Path) -> Any:
    """Return what a YAML file holds; nothing if it cannot be read."""
    try:
        if file.stat().st_size > _LARGEST:
            return {}
        return yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return {}


def _table_of(node: Any) -> dict[str, Any]:
    """Return the form of a node that has keys below it; empty if none has."""
    forms = (node, *node.get("anyOf", ()))
    return next((one for one in forms if _is_table(one)), {})


def _is_table(node: Any) -> bool:
    return "object" in node.get("type", ())


def _is_short_form(node: Any) -> bool:
    return _is_table(node) and "properties" not in node and "additionalProperties" not in node


def _is_platform_table(path: str) -> bool:
    names = path.split(".")
    return (names[0], *names[2:]) == ("platforms", "extra", "")


def _words(node: Any) -> tuple[str, ...]:
    for form in (node, *node.get("anyOf", ())):
        if "enum" in form:
            return tuple(str(one) for one in form["enum"])
        if form.get("type") == "boolean":
            return _BOOLS
    return ()
