"""Reads the files in the home folder: `gateway.json`, `.env` and `config.yaml`.

Part of config, before `layers`; a file that cannot be read becomes a problem, never an exception,
and no problem quotes a file, which may hold secrets.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hermes.config.dotenv import parse
from hermes.config.findings import Finding, printed
from hermes.config.layers import DOTENV, Layer, layer_of_tree, layer_of_variables
from hermes.config.legacy import RETIRED, translated
from hermes.config.settings import Key
from hermes.config.variables import WellKnownVariable

YAML = "config.yaml"
LEGACY = "gateway.json"


class _Unreadable(Exception):
    """A file that cannot be used; its text says why, `line` where."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


def legacy_layer(home: Path) -> Layer:
    """Read the older gateway's `gateway.json`."""
    try:
        tree = _parse_json(home / LEGACY)
    except _Unreadable as fault:
        return _failed(LEGACY, str(fault))
    layer = layer_of_tree(LEGACY, translated(tree))
    layer.warnings += [
        Finding(
            key,
            printed((key,), tree[key]),
            f"{LEGACY}: {key} is {printed((key,), tree[key])} and has no effect any more",
            "remove it",
        )
        for key in tree
        if key in RETIRED
    ]
    return layer


def dotenv_layer(
    home: Path, *, known: Iterable[Key] = (), plugged: Mapping[str, WellKnownVariable]
) -> Layer:
    """Read `.env`; `known` are keys of other files, for their spelling, `plugged` the variables of
    plugins.
    """
    try:
        text = _read(home / DOTENV)
    except _Unreadable as fault:
        return _failed(DOTENV, str(fault))
    parsed = parse(text or "")
    layer = layer_of_variables(DOTENV, parsed.values, known=known, plugged=plugged)
    for fault_text in parsed.faults:
        problem, _, fix = fault_text.rpartition("; ")
        layer.problems.append(Finding(DOTENV, "", problem, fix))
    return layer


def dotenv_values(home: Path) -> Mapping[str, str]:
    """Return every variable of `.env`, whatever uses it."""
    try:
        return parse(_read(home / DOTENV) or "").values
    except _Unreadable:
        # `dotenv_layer` reports it.
        return {}


def yaml_layer(home: Path, draft: str | None = None) -> Layer:
    """Read `config.yaml`, or a text that may become it."""
    try:
        tree = _parse_yaml(_read(home / YAML) if draft is None else draft)
    except _Unreadable as fault:
        return _failed(YAML, str(fault), line=fault.line)
    return layer_of_tree(YAML, tree)


def _failed(name: str, why: str, *, line: int | None = None) -> Layer:
    problem, _, fix = why.rpartition("; ")
    return Layer(name, problems=[Finding(name, "", f"{name}: {problem}", fix, line)])


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None
    except OSError as fault:
        reason = fault.strerror or "it failed"
        raise _Unreadable(f"cannot be read ({reason}); make it a readable file") from None
    except UnicodeDecodeError as fault:
        raise _Unreadable(f"is not UTF-8 at byte {fault.start}; save it as UTF-8") from None


def _table(content: object) -> Mapping[Any, object]:
    if content is None:
        return {}
    if not isinstance(content, dict):
        found = type(content).__name__
        raise _Unreadable(f"expected keys with values at the top, found {found}; write them so")
    return content


def _parse_json(path: Path) -> Mapping[Any, object]:
    text = _read(path)
    if text is None:
        return {}
    try:
        return _table(json.loads(text))
    except ValueError as fault:
        line = getattr(fault, "lineno", 1)
        raise _Unreadable(f"is not JSON at line {line}; correct that line") from None


def _parse_yaml(text: str | None) -> Mapping[Any, object]:
    if text is None:
        return {}
    # Imported on use: most servers are configured by environment alone, and this costs 20 ms.
    import yaml  # noqa: PLC0415

    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        node = loader.get_single_node()
        _refuse_surprises(node, ())
        return _table(loader.construct_document(node) if node is not None else None)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        reason = (fault.problem or "it is malformed").split(", but ")[0]
        line = None if mark is None else mark.line + 1
        raise _Unreadable(f"is not YAML{place} ({reason}); correct that line", line) from None
    except (yaml.YAMLError, ValueError):
        raise _Unreadable("is not YAML; remove control characters and impossible dates") from None


# A node of the yaml package, which is imported on use only; hence Any.
def _refuse_surprises(node: Any, above: tuple[int, ...]) -> None:
    """Refuse a repeated key, which hides the first one, and a value that contains itself."""
    if node is None or node.id == "scalar":
        return
    if id(node) in above:
        line = node.start_mark.line + 1
        raise _Unreadable(f"the value at line {line} contains itself; write it out", line)
    inside = (*above, id(node))
    if node.id == "sequence":
        for item in node.value:
            _refuse_surprises(item, inside)
        return
    names: set[str] = set()
    for key, value in node.value:
        if key.id == "scalar" and key.value in names:
            line = key.start_mark.line + 1
            raise _Unreadable(f"the key {key.value} is repeated at line {line}; remove one", line)
        names.add(str(key.value))
        _refuse_surprises(value, inside)
