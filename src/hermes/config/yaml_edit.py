"""Sets or removes one value in a YAML text, and leaves everything else unchanged, comments included.

Part of config. The result is parsed again: if it is not exactly what was meant, the edit is
refused, so that no odd spelling can lose settings.
"""

import json
import re
from typing import Any

import yaml

from hermes.errors import ConfigurationError

_STEP = "  "
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


# Any: what a YAML file holds is any value.
def set_value(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return the text with a value at a path; raises `ConfigurationError` if it cannot be edited."""
    try:
        before = yaml.safe_load(text) or {}
        after = _edited(text, path, value)
        if yaml.safe_load(after) == _with(before, path, value):
            return after
    except (yaml.YAMLError, _CannotEdit):
        pass
    raise _by_hand(".".join(path), value)


def remove_value(text: str, path: tuple[str, ...]) -> str:
    """Return the text without a key; unchanged if it is not there."""
    try:
        before = yaml.safe_load(text) or {}
        if _at(before, path) is _MISSING:
            return text
        after = _removed(text, path)
        if (yaml.safe_load(after) or {}) == _without(before, path):
            return after
    except (yaml.YAMLError, _CannotEdit):
        pass
    raise ConfigurationError(
        f"config.yaml has a form that cannot be edited automatically; remove {'.'.join(path)} by hand"
    )


def value_at(text: str, path: tuple[str, ...]) -> Any:
    """Return the value at a path; None if there is none."""
    found = _at(yaml.safe_load(text) or {}, path)
    return None if found is _MISSING else found


def line_of(text: str, key: str) -> int | None:
    """Return the line, counted from 1, of a dotted key or of the nearest key above it."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    return None if node is None else _line_below(node, key)


def _line_below(node: yaml.Node, key: str) -> int | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    for name, value in node.value:
        if key == name.value:
            return int(name.start_mark.line) + 1
        if key.startswith(f"{name.value}."):
            inner = _line_below(value, key.removeprefix(f"{name.value}."))
            return inner or int(name.start_mark.line) + 1
    return None


def add_item(text: str, key: str, item: str) -> str:
    """Return the text with one more item in a top-level list; unchanged if the item exists."""
    known: list[Any] = []
    try:
        before = yaml.safe_load(text) or {}
        known = before.get(key) or [] if isinstance(before, dict) else []
        if item in known:
            return text
        if not known:
            return set_value(text, (key,), [item])
        after = _appended(text, key, item)
        if yaml.safe_load(after) == {**before, key: [*known, item]}:
            return after
    except (yaml.YAMLError, _CannotEdit):
        pass
    raise _by_hand(key, [*known, item])


def _by_hand(name: str, value: Any) -> ConfigurationError:
    return ConfigurationError(
        f"config.yaml has a form that cannot be edited automatically; set {name} to "
        f"{_word(value)} by hand"
    )


class _CannotEdit(Exception):
    """The text has a form that cannot be edited here."""


_MISSING = object()


def _at(table: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(table, dict) or name not in table:
            return _MISSING
        table = table[name]
    return table


def _without(table: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Return a table without a key; a table that it leaves empty has no value."""
    rest = {name: value for name, value in table.items() if name != path[0]}
    if len(path) == 1:
        return rest
    inner = _without(table[path[0]], path[1:]) or None
    return {name: inner if name == path[0] else value for name, value in table.items()}


def _removed(text: str, path: tuple[str, ...]) -> str:
    """Return the text without the lines of a key."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    key = node
    for name in path:
        if not isinstance(node, yaml.MappingNode) or node.flow_style:
            raise _CannotEdit
        key, node = next(pair for pair in node.value if pair[0].value == name)
    lines = text.splitlines(keepends=True)
    return "".join((*lines[: key.start_mark.line], *lines[_last_line(node) + 1 :]))


def _with(table: Any, path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    known = table if isinstance(table, dict) else {}
    return {**known, path[0]: _with(known.get(path[0]), path[1:], value)}


def _edited(text: str, path: tuple[str, ...], value: Any) -> str:
    if text and not text.endswith("\n"):
        text += "\n"
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if node is None:
        return text + _block(path, value, indent="")
    for depth, name in enumerate(path):
        if not isinstance(node, yaml.MappingNode):
            raise _CannotEdit
        pair = next((pair for pair in node.value if pair[0].value == name), None)
        if pair is None:
            return _inserted(text, node, path[depth:], value=value)
        key, node = pair
        if _is_empty(node):
            indent = " " * key.start_mark.column + _STEP
            rest = path[depth + 1 :]
            below = f"\n{_block(rest, value, indent=indent)}" if rest else f" {_word(value)}\n"
            return _after_colon(text, key, below)
    return text[: node.start_mark.index] + _word(value) + text[node.end_mark.index :]


def _appended(text: str, key: str, item: str) -> str:
    if not text.endswith("\n"):
        text += "\n"
    top = yaml.compose(text, Loader=yaml.SafeLoader)
    pairs = top.value if isinstance(top, yaml.MappingNode) else []
    node = next((node for name, node in pairs if name.value == key), None)
    if not isinstance(node, yaml.SequenceNode):
        raise _CannotEdit
    if node.flow_style:
        place = node.end_mark.index - 1
        return f"{text[:place]}, {_word(item)}{text[place:]}"
    lines = text.splitlines(keepends=True)
    place = _last_line(node) + 1
    added = f"{' ' * node.start_mark.column}- {_word(item)}\n"
    return "".join((*lines[:place], added, *lines[place:]))


def _is_empty(node: yaml.Node) -> bool:
    """Return whether a key has no value."""
    return isinstance(node, yaml.ScalarNode) and node.start_mark.index == node.end_mark.index


def _after_colon(text: str, key: yaml.Node, below: str) -> str:
    colon = text.index(":", key.end_mark.index) + 1
    end = text.index("\n", colon)
    return text[:colon] + text[colon:end].rstrip() + below.rstrip("\n") + text[end:]


def _inserted(text: str, node: yaml.MappingNode, path: tuple[str, ...], *, value: Any) -> str:
    if node.flow_style:
        place = node.start_mark.index + 1
        rest = ", " if node.value else ""
        return text[:place] + _flow(path, value) + rest + text[place:]
    indent = " " * node.value[0][0].start_mark.column
    if not indent:
        return text + _block(path, value, indent="")
    lines = text.splitlines(keepends=True)
    place = _last_line(node) + 1
    return "".join((*lines[:place], _block(path, value, indent=indent), *lines[place:]))


def _last_line(node: yaml.Node) -> int:
    """Return the line on which a node ends; comments after it are not part of it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return max(map(_last_line, last)) if isinstance(last, tuple) else _last_line(last)
    mark = node.end_mark
    is_behind = mark.column == 0 and mark.line > node.start_mark.line
    return int(mark.line) - 1 if is_behind else int(mark.line)


def _block(path: tuple[str, ...], value: Any, *, indent: str) -> str:
    names = [_name(name) for name in path]
    head = "".join(f"{indent}{_STEP * depth}{name}:\n" for depth, name in enumerate(names[:-1]))
    return f"{head}{indent}{_STEP * (len(path) - 1)}{names[-1]}: {_word(value)}\n"


def _flow(path: tuple[str, ...], value: Any) -> str:
    inner = _word(value)
    for name in reversed(path[1:]):
        inner = f"{{{_name(name)}: {inner}}}"
    return f"{_name(path[0])}: {inner}"


def _name(name: str) -> str:
    """Return a key as YAML parses it back: plain if that is the same text."""
    return name if _PLAIN.fullmatch(name) and yaml.safe_load(name) == name else _word(name)


def _word(value: Any) -> str:
    """Return a value as YAML parses it back: JSON is YAML."""
    return json.dumps(value, ensure_ascii=False)
