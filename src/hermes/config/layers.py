"""One layer of the configuration: the values of a file or a set of variables, key by key.

Part of config, between the readers in `files` and the merge in `load`; pure.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hermes.config.findings import MASK, Finding, printed, wrong_value
from hermes.config.keys import Node, closeness, dotted, nearest_key, node_at, own_setting, root
from hermes.config.section import names_as_table, split_list
from hermes.config.settings import Key
from hermes.config.variables import (
    ACCOUNTS,
    ENVIRONMENT_ONLY,
    HOME,
    PLATFORM_NAMES,
    PREFIX,
    WELL_KNOWN,
    WellKnownVariable,
    key_of,
    key_of_platform,
    platform_key,
    platforms_named,
    variable_of,
)
from hermes.similar_words import nearest

# An entry of these exists as soon as it is named, even if nothing is set in it.
OPEN_TABLES: frozenset[Key] = frozenset({("providers",), ("agents",), ("platforms",)})
ENVIRONMENT = "environment"
DOTENV = ".env"
_TYPING_ERROR = 0.85
_NO_ROWS: Mapping[str, WellKnownVariable] = {}


@dataclass(frozen=True, slots=True)
class LayerValue:
    """One value as it was given, and where."""

    value: object
    layer: str
    variable: str | None = None

    @property
    def origin(self) -> str:
        """Where the value was given, as text."""
        return f"{self.layer} {self.variable}" if self.variable else self.layer


@dataclass(slots=True)
class Layer:
    """The content of one source: its values, its problems and its warnings."""

    name: str
    leaves: dict[Key, LayerValue] = field(default_factory=dict)
    hidden: list[tuple[Key, LayerValue]] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)


def layer_of_tree(name: str, tree: Mapping[object, object]) -> Layer:
    """Read the nested content of a file."""
    layer = Layer(name)
    platforms = tree.get("platforms")
    named = set(platforms) if isinstance(platforms, Mapping) else set()
    for top, value in tree.items():
        is_platform = top in PLATFORM_NAMES or (top in named and top not in root().children)
        if is_platform and isinstance(top, str) and isinstance(value, Mapping):
            _walk(layer, ("platforms", top), value={})
            for rest, item in _short_form(value):
                _walk(layer, platform_key(top, rest), value=item)
        else:
            _walk_child(layer, (), name=top, value=value)
    return layer


def _short_form(table: Mapping[object, object]) -> Iterator[tuple[Key, object]]:
    """Yield the settings in a platform's short form, and those of its accounts one by one."""
    for name, item in table.items():
        if name != ACCOUNTS or not isinstance(item, Mapping):
            yield (str(name),), item
            continue
        for account, inner in item.items():
            yield (ACCOUNTS, str(account)), {}
            below = inner if isinstance(inner, Mapping) else {}
            yield from (((ACCOUNTS, str(account), str(one)), it) for one, it in below.items())


def _walk_child(layer: Layer, key: Key, *, name: object, value: object) -> None:
    if isinstance(name, bool) or not isinstance(name, str | int):
        text = f"{layer.name}: {dotted(key) or 'the top'} holds the key {name!r}, expected text"
        layer.problems.append(Finding(dotted(key), repr(name), text, "put the key in quotes"))
        return
    _walk(layer, (*key, str(name)), value=value)


def _walk(layer: Layer, key: Key, *, value: object) -> None:
    """Split a value down to its leaves."""
    node = node_at(key)
    if node is not None and node.takes_names:
        value = names_as_table(value)
    if node is None:
        layer.problems.append(_unknown(layer.name, key))
    elif node.is_leaf or (node.is_free and not _is_branch(key, value)):
        _add(layer, key, leaf=LayerValue(value, layer.name))
    elif isinstance(value, Mapping) and value:
        for name, item in value.items():
            _walk_child(layer, key, name=name, value=item)
    elif value is None or isinstance(value, Mapping):
        if _is_open(key[:-1]):
            _add(layer, key, leaf=LayerValue({}, layer.name))
    else:
        layer.problems.append(_not_a_table(key, value, origin=layer.name))


def _is_open(table: Key) -> bool:
    """Whether an entry of a table exists as soon as it is named."""
    node = node_at(table)
    is_deployments = table[:1] == ("providers",) and table[2:] == ("deployments",)
    is_accounts = table[:1] == ("platforms",) and table[2:] == ("accounts",)
    return (
        table in OPEN_TABLES
        or is_deployments
        or is_accounts
        or (node is not None and node.takes_names)
    )


def _is_branch(key: Key, value: object) -> bool:
    """Whether a free-form value has keys below it; `extra` itself always has."""
    return own_setting(key) == () or (isinstance(value, Mapping) and bool(value))


def _not_a_table(key: Key, value: object, *, origin: str) -> Finding:
    fix = f"write keys below {dotted(key)}, or remove it"
    return wrong_value(key, value, origin=origin, expected="keys with values", fix=fix)


def _unknown(where: str, key: Key) -> Finding:
    meant = nearest_key(key)
    above = 4 if key[2:3] == ("accounts",) else 2
    if key[0] == "platforms" and len(key) > above:
        meant = (*key[:above], "extra", *key[above:])
    fix = (
        f"did you mean {dotted(meant)}?" if meant else "remove it; docs/settings.md lists all keys"
    )
    return Finding(dotted(key), "", f"{where}: unknown key {dotted(key)}", fix)


def _add(layer: Layer, key: Key, *, leaf: LayerValue) -> None:
    node = node_at(key)
    shown = printed(key, leaf.value)
    if key in ENVIRONMENT_ONLY and layer.name != ENVIRONMENT:
        problem = f"{leaf.origin}: {dotted(key)} can be set by environment variable only"
        layer.problems.append(Finding(dotted(key), shown, problem, "remove it here"))
    elif key in layer.leaves and not leaf.variable and leaf.value != {}:
        problem = f"{leaf.origin}: {dotted(key)} is given twice, also in its short form"
        layer.problems.append(Finding(dotted(key), shown, problem, "remove one of the two"))
    elif node is not None and node.is_number and isinstance(leaf.value, bool):
        fix = "write a number"
        layer.problems.append(
            wrong_value(key, leaf.value, origin=leaf.origin, expected=node.expected, fix=fix)
        )
    else:
        layer.leaves[key] = leaf


def layer_of_variables(
    name: str,
    variables: Mapping[str, str],
    *,
    known: Iterable[Key] = (),
    plugged: Mapping[str, WellKnownVariable] = _NO_ROWS,
) -> Layer:
    """Read variables; `known` are keys of other layers, whose names may be spelled with `-`.

    `plugged` are the variables of plugins.
    """
    layer = Layer(name)
    spellings = (*known, *(row.key for row in plugged.values()))
    platforms = platforms_named(spellings, variables)
    rows = {**plugged, **WELL_KNOWN}
    for variable, text in variables.items():
        if variable == HOME:
            _warn_of_late_home(layer)
        elif variable in rows:
            if text:
                _set(layer, rows[variable].key, value=text, variable=variable)
        elif variable.startswith(PREFIX):
            _read_path_variable(layer, variable, text=text, spellings=spellings)
        elif (key := key_of_platform(variable, platforms)) is not None:
            _read_platform_variable(layer, variable, text=text, key=key)
        elif name == DOTENV:
            _warn_of_typing_error(layer, variable)
    return layer


def _read_platform_variable(layer: Layer, variable: str, *, text: str, key: Key) -> None:
    node = node_at(key)
    if text and node is not None:
        _set(layer, key, value=_value_of(node, text), variable=variable)


def _warn_of_late_home(layer: Layer) -> None:
    if layer.name != ENVIRONMENT:
        problem = f"{layer.name} {HOME}: the home folder is known before this file is read"
        layer.warnings.append(Finding(HOME, MASK, problem, f"set {HOME} in the environment"))


def _read_path_variable(
    layer: Layer, variable: str, *, text: str, spellings: tuple[Key, ...]
) -> None:
    key = _spelled(key_of(variable), spellings)
    node = node_at(key)
    if node is None:
        layer.warnings.append(_unknown_variable(layer.name, variable, key=key))
    elif node.is_leaf or (node.is_free and own_setting(key) != ()):
        _set(layer, key, value=_value_of(node, text), variable=variable)
    else:
        _read_table_variable(layer, variable, text=text, key=key)


def _spelled(key: Key, spellings: tuple[Key, ...]) -> Key:
    """Return the spelling that a file uses, because a variable cannot contain `-`."""
    result: Key = ()
    for part in key:
        depth = len(result)
        same = (
            other[depth]
            for other in spellings
            if len(other) > depth
            and other[:depth] == result
            and other[depth].replace("-", "_").lower() == part
        )
        result = (*result, next(same, part))
    return result


def _value_of(node: Node, text: str) -> object:
    if text == "" and node.may_be_none:
        return None
    if not node.is_list:
        return text
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return split_list(text)


def _read_table_variable(layer: Layer, variable: str, *, text: str, key: Key) -> None:
    node = node_at(key)
    takes_names = node is not None and node.takes_names
    tree = _table_in(text, takes_names=takes_names)
    if not isinstance(tree, dict):
        origin = f"{layer.name} {variable}"
        expected = 'a JSON object such as {"a": 1}'
        fix = f"write one, or set a single key such as {variable}__..."
        # The text may hold a secret at any depth, so none of it is shown.
        layer.problems.append(
            Finding(dotted(key), "", f"{origin}: {dotted(key)} expected {expected}", fix)
        )
        return
    inner = Layer(layer.name)
    _walk(inner, key, value=tree)
    layer.problems += inner.problems
    for found, leaf in inner.leaves.items():
        _set(layer, found, value=leaf.value, variable=variable)


def _table_in(text: str, *, takes_names: bool) -> object:
    """Return the table in a text, which may be JSON or, with `takes_names`, a list of names."""
    if takes_names and not text.lstrip().startswith(("{", "[")):
        return names_as_table(split_list(text))
    try:
        tree = json.loads(text) if text else {}
    except ValueError:
        return None
    return names_as_table(tree) if takes_names else tree


def _set(layer: Layer, key: Key, *, value: object, variable: str) -> None:
    """Set a key from a variable; of two for one key the name with the full path wins."""
    leaf = LayerValue(value, layer.name, variable)
    other = layer.leaves.get(key)
    is_path = variable.startswith(PREFIX) and variable not in WELL_KNOWN
    if other is not None and not is_path:
        layer.hidden.append((key, leaf))
        return
    if other is not None:
        layer.hidden.append((key, other))
    _add(layer, key, leaf=leaf)


def _unknown_variable(where: str, variable: str, *, key: Key) -> Finding:
    by_name = nearest(variable, list(WELL_KNOWN))
    meant = nearest_key(key)
    by_key = variable_of(meant) if meant else None
    guesses = [guess for guess in (by_key, by_name) if guess]
    best = max(guesses, key=lambda guess: closeness(variable, guess), default=None)
    fix = f"did you mean {best}?" if best else "remove it; docs/settings.md lists all names"
    problem = f"{where} {variable}: no setting has this name and its value is ignored"
    return Finding(variable, MASK, problem, fix)


def _warn_of_typing_error(layer: Layer, variable: str) -> None:
    """Warn of an unknown name in `.env` that is almost a known one; any other may belong to a
    plugin."""
    meant = nearest(variable, list(WELL_KNOWN))
    if meant is not None and closeness(variable, meant) >= _TYPING_ERROR:
        problem = f"{layer.name} {variable}: no setting has this name and its value is ignored"
        layer.warnings.append(Finding(variable, MASK, problem, f"did you mean {meant}?"))
