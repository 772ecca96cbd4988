"""Makes the settings from all layers: defaults < gateway.json < .env < config.yaml < environment.

The entry point of config; `app` and `cli` call it once and pass the environment in. All errors are
reported at once; what is only surprising becomes a warning.
"""

import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import ValidationError

from hermes.config.checks import DEFAULT, check
from hermes.config.entries import agent_tables, built_in_tables, provider_tables
from hermes.config.file_secrets import secret_keys
from hermes.config.files import LEGACY, dotenv_layer, dotenv_values, legacy_layer, yaml_layer
from hermes.config.findings import Finding, masked, printed, raise_all, wrong_value
from hermes.config.hook_files import read_hook_files
from hermes.config.keys import Node, dotted, names_at, node_at, root
from hermes.config.layers import (
    ENVIRONMENT,
    Layer,
    LayerValue,
    layer_of_tree,
    layer_of_variables,
)
from hermes.config.named_variables import fill, has_named, server_names
from hermes.config.plugin_files import plugin_variables
from hermes.config.presets import preset_tree
from hermes.config.settings import Key, Settings, leaves
from hermes.config.tool_settings import McpSettings
from hermes.config.variables import WELL_KNOWN, WellKnownVariable
from hermes.home_path import home_folder

_PRESET: Key = ("preset",)
_PLUGINS: Key = ("plugins",)
# Any: a file's values can be anything until they are validated.
Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StartChoices:
    """What the operator allows one start to do with the database; no setting, so never for good."""

    accepts_lone_database: bool = False
    copies_before_upgrade: bool = True


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The settings, where each came from, and what the operator should know about them.

    `origins` say it in words; `layers` name the file or the environment.
    """

    settings: Settings
    home: Path
    origins: Mapping[str, str]
    layers: Mapping[str, str]
    warnings: tuple[Finding, ...]
    reread: Callable[[], "LoadedConfig"] = field(repr=False, compare=False)
    """Reads the same files and variables again."""
    mcp_with: Callable[[Mapping[str, str]], McpSettings] = field(repr=False, compare=False)
    """Returns the settings of the MCP servers with secrets for the names that these contain."""
    mcp_names: Mapping[str, tuple[str, ...]] = field(repr=False, compare=False)
    """The MCP servers that name a variable or a secret, by this name."""
    variable: Callable[[str], str | None] = field(repr=False, compare=False)
    """Returns the value of a variable of the environment or of `.env`."""
    choices: StartChoices = StartChoices()


@dataclass(frozen=True, slots=True)
class ConfigExamination:
    """What a configuration says, and all that is wrong with it; `loaded` is None if anything is."""

    loaded: LoadedConfig | None
    problems: tuple[Finding, ...]
    warnings: tuple[Finding, ...]


def load(environ: Mapping[str, str], home: Path | None) -> LoadedConfig:
    """Read every layer, check the whole, and raise one ConfigurationError with all problems."""
    examined = examine(environ, home)
    if examined.loaded is None:
        raise_all(list(examined.problems))
    return examined.loaded


def load_draft(environ: Mapping[str, str], home: Path | None, *, draft: str) -> LoadedConfig:
    """Do the same as `load`, with a text in the place of config.yaml, also when it is read again."""
    examined = examine(environ, home, draft=draft)
    if examined.loaded is None:
        raise_all(list(examined.problems))
    return replace(examined.loaded, reread=partial(load_draft, environ, home, draft=draft))


def examine(
    environ: Mapping[str, str], home: Path | None, *, draft: str | None = None
) -> ConfigExamination:
    """Read every layer and check the whole; `draft` is read in the place of config.yaml."""
    folder = home if home is not None else home_folder(environ)
    layers = _read_layers(environ, folder, draft)
    problems = [replace(one, layer=layer.name) for layer in layers for one in layer.problems]
    warnings = [replace(one, layer=layer.name) for layer in layers for one in layer.warnings]
    winners = _merge([_preset(layers), *layers])
    warnings += _shadowed(layers, winners) + _exposed(layers, folder)
    named = {key: leaf for key, leaf in winners.items() if key[0] == "mcp"}
    if has_named(winners):
        fill(winners, _variables(environ, folder))
    settings, invalid = _validate(winners)
    problems += invalid
    if settings is not None:
        checked = check(settings, lambda key: _origin(winners, key))
        told = {problem.key for problem in problems}
        problems += [problem for problem in checked.problems if problem.key not in told]
        warnings += checked.warnings
        if settings.hooks.enabled:
            problems += read_hook_files(folder)[1]
    if problems or settings is None:
        return ConfigExamination(
            None,
            tuple(_placed(one, winners) for one in problems),
            tuple(_placed(one, winners) for one in warnings),
        )
    loaded = LoadedConfig(
        settings,
        folder,
        _origins(settings, winners),
        MappingProxyType({dotted(key): leaf.layer for key, leaf in winners.items()}),
        tuple(_placed(one, winners) for one in warnings),
        reread=partial(load, environ, home),
        mcp_with=partial(
            _mcp_with, settings.mcp, named, variables=partial(_variables, environ, folder)
        ),
        mcp_names=server_names(named),
        variable=lambda name: _variables(environ, folder).get(name),
    )
    return ConfigExamination(loaded, (), loaded.warnings)


def _placed(finding: Finding, winners: Mapping[Key, LayerValue]) -> Finding:
    """Return a finding with the layer that its value comes from."""
    if finding.layer:
        return finding
    layers = (leaf.layer for key, leaf in winners.items() if dotted(key) == finding.key)
    return replace(finding, layer=next(layers, ""))


def _variables(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    return {**dotenv_values(home), **environ}


def _mcp_with(
    settings: McpSettings,
    named: Mapping[Key, LayerValue],
    secrets: Mapping[str, str],
    *,
    variables: Callable[[], Mapping[str, str]],
) -> McpSettings:
    """Return the settings of the MCP servers with stored secrets before variables."""
    if not (secrets and has_named(named)):
        return settings
    winners = dict(named)
    fill(winners, {**variables(), **secrets})
    filled, _ = _validate(winners)
    return settings if filled is None else filled.mcp


def _origins(settings: Settings, winners: Mapping[Key, LayerValue]) -> Mapping[str, str]:
    found = {dotted(key): _origin(winners, key) for key, _ in leaves(settings)}
    return MappingProxyType(found)


def _validate(winners: dict[Key, LayerValue]) -> tuple[Settings | None, list[Finding]]:
    """Validate; invalid values are set aside, so that the checks can report on the rest at once.

    No settings if it is not clear which values are invalid.
    """
    invalid: list[Finding] = []
    while True:
        try:
            return Settings.model_validate(_tree(winners)), invalid
        except ValidationError as fault:
            # Only the places are taken: the fault itself quotes values, which may be secret.
            places = [error["loc"] for error in fault.errors(include_input=False)]
        invalid += dict.fromkeys(_placed(_invalid(place, winners), winners) for place in places)
        wrong = [key for key in winners if any(_covers(place, key) for place in places)]
        if not wrong:
            return None, invalid
        for key in wrong:
            del winners[key]


def _covers(place: tuple[int | str, ...], key: Key) -> bool:
    """Whether a value at this key is the cause of the error at that place."""
    parts = tuple(str(part) for part in place if part != "[key]")
    return parts[: len(key)] == key or key[: len(parts)] == parts


def _read_layers(environ: Mapping[str, str], home: Path, draft: str | None) -> list[Layer]:
    """The layers, weakest first."""
    legacy, file = legacy_layer(home), yaml_layer(home, draft)
    known = [*legacy.leaves, *file.leaves]

    def variables(plugged: Mapping[str, WellKnownVariable]) -> tuple[Layer, Layer]:
        dotenv = dotenv_layer(home, known=known, plugged=plugged)
        return dotenv, layer_of_variables(ENVIRONMENT, environ, known=known, plugged=plugged)

    dotenv, around = variables({})
    plugged = plugin_variables(_plugins([legacy, dotenv, file, around]), home)
    if plugged:
        dotenv, around = variables(plugged)
    implied = Layer("a credential")
    layers = [legacy, implied, dotenv, file, around]
    _enable(implied, layers, rows=[*WELL_KNOWN.values(), *plugged.values()])
    return layers


def _plugins(layers: list[Layer]) -> tuple[str, ...]:
    """Return the plugins that the strongest layer lists; the validation reports a wrong list."""
    listed = [layer.leaves[_PLUGINS].value for layer in layers if _PLUGINS in layer.leaves]
    found = listed[-1] if listed else ()
    return tuple(map(str, found)) if isinstance(found, list | tuple) else ()


def _preset(layers: list[Layer]) -> Layer:
    """Return the layer below all others: the preset that the strongest one chooses."""
    chosen = [layer.leaves[_PRESET].value for layer in layers if _PRESET in layer.leaves]
    name = str(chosen[-1]) if chosen else ""
    return layer_of_tree(f"preset {name}", preset_tree(name))


def _enable(implied: Layer, layers: list[Layer], *, rows: Iterable[WellKnownVariable]) -> None:
    """Enable a platform that has its credential, unless a newer layer than the legacy file disables
    it."""
    for row in rows:
        given = [layer.leaves[row.key] for layer in layers if row.key in layer.leaves]
        if row.enables is None or not given or not given[-1].value:
            continue
        key = ("platforms", row.enables, "enabled")
        if given[-1].layer == LEGACY and key in layers[0].leaves:
            continue
        implied.leaves[key] = LayerValue(True, given[-1].layer, given[-1].variable)


def _merge(layers: list[Layer]) -> dict[Key, LayerValue]:
    winners: dict[Key, LayerValue] = {}
    for layer in layers:
        winners.update(layer.leaves)
    return winners


def _shadowed(layers: list[Layer], winners: Mapping[Key, LayerValue]) -> list[Finding]:
    """Report every value that a variable hides, and every variable that a file hides.

    Two places with the same value are not reported.
    """
    given = [(key, leaf) for layer in layers for key, leaf in layer.leaves.items()]
    given += [hidden for layer in layers for hidden in layer.hidden]
    return [
        _shadow(key, winners[key], loser=loser)
        for key, loser in given
        if loser is not winners[key]
        and (loser.variable or winners[key].variable)
        and _meant(loser.value) != _meant(winners[key].value)
    ]


def _meant(value: object) -> str:
    """Return the meaning of a value in any notation: a variable is always text."""
    if isinstance(value, list | tuple):
        return ",".join(map(_meant, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shadow(key: Key, winner: LayerValue, *, loser: LayerValue) -> Finding:
    shown, lost = printed(key, winner.value), printed(key, loser.value)
    problem = f"{winner.origin} sets {dotted(key)} to {shown} and hides {lost} of {loser.origin}"
    return Finding(dotted(key), shown, problem, "remove one of the two")


def _exposed(layers: list[Layer], home: Path) -> list[Finding]:
    """Report files with secrets that others on this machine can read."""
    found = []
    for layer in layers:
        secret = next(secret_keys(layer), None)
        if secret is None or not _others_can_read(home, layer.name):
            continue
        problem = f"{layer.name}: {dotted(secret)} is **** and others on this machine can read it"
        fix = f"run chmod 600 {home / layer.name}"
        found.append(Finding(dotted(secret), "****", problem, fix, layer=layer.name))
    return found


def _others_can_read(home: Path, name: str) -> bool:
    try:
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (home, home / name)]
    except OSError:
        return False
    return bool(modes[0] & (modes[1] >> 2) & 0o011)


def _tree(winners: Mapping[Key, LayerValue]) -> Tree:
    """Nest the values, over the built-in entries of the open tables."""
    tree = _empty_tables(root())
    for section, tables in built_in_tables().items():
        tree[section] |= tables
    for key, leaf in winners.items():
        table = tree
        for part in key[:-1]:
            inner = table.get(part)
            if not isinstance(inner, dict):
                inner = table[part] = {}
            table = inner
        if leaf.value == {} and isinstance(table.get(key[-1]), dict):
            continue
        table[key[-1]] = {} if leaf.value == {} else leaf.value
    tree["providers"] = provider_tables(tree["providers"])
    tree["agents"] = agent_tables(tree["agents"])
    return tree


def _empty_tables(node: Node) -> Tree:
    """Return every section, even if empty: a default would build its validator a second time."""
    inner = node.children.items()
    return {name: _empty_tables(child) for name, child in inner if not child.is_leaf}


def _origin(winners: Mapping[Key, LayerValue], key: Key) -> str:
    leaf = winners.get(key)
    return leaf.origin if leaf is not None else DEFAULT


def _invalid(location: tuple[int | str, ...], winners: Mapping[Key, LayerValue]) -> Finding:
    """Return what is wrong at the place where validation failed."""
    parts = tuple(str(part) for part in location)
    if parts[-1] == "[key]":
        key, name = parts[:-1], parts[-2]
        origin = next(
            (leaf.origin for found, leaf in winners.items() if found[: len(key)] == key), DEFAULT
        )
        text = f"{origin}: {dotted(key)} has the name {name!r}, expected {names_at(key[:-1])}"
        return Finding(dotted(key), name, text, "rename it")
    ends = range(len(parts), 0, -1)
    key = next((parts[:end] for end in ends if parts[:end] in winners), parts)
    node = node_at(key)
    expected = node.expected if node else "a known key"
    value = winners[key].value if key in winners else None
    default = node.default if node and not node.is_secret else None
    fix = (
        "correct it" if default is None else f"correct it, or remove it for {printed(key, default)}"
    )
    return wrong_value(key, value, origin=_origin(winners, key), expected=expected, fix=fix)


class SettingRow(NamedTuple):
    """One setting to print; the value is plain data, ready for JSON."""

    key: str
    value: object
    origin: str | None


def show(loaded: LoadedConfig, origin: bool) -> list[SettingRow]:
    """Every setting with its value (secrets masked) and, if asked, where it came from."""
    return [
        SettingRow(dotted(key), masked(key, value), loaded.origins[dotted(key)] if origin else None)
        for key, value in leaves(loaded.settings)
    ]
