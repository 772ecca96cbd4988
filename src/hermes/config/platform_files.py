"""Writes the answers of `hermes channels add`: secrets into `.env`, the rest into `config.yaml`.

Part of config. Each file is replaced as a whole, readable only by its owner, with the old one kept
beside it; comments and every other line stay.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from hermes.config.files import YAML
from hermes.config.first_files import file_text, replace_file, with_variable
from hermes.config.layers import DOTENV
from hermes.config.settings import Key
from hermes.config.variables import LEVELS, PREFIX, WELL_KNOWN, variable_for, variable_of
from hermes.config.yaml_edit import add_item, set_value
from hermes.message.channel_name import account_of, settings_key

# A setting of a platform, or of a row of one of its tables.
Place = tuple[str, ...]
_EXTRA: Final = "extra"


def platform_variable(channel: str, *setting: str, env: str = "") -> str:
    """Return the variable that holds a channel's setting, such as a secret.

    `env` is the name that a manifest gives; it counts for the platform's own bot, unless it means
    something else already.
    """
    key = own_key(channel, *setting)
    row = WELL_KNOWN.get(env)
    is_free = not env.startswith(PREFIX) and (row is None or row.key == key)
    is_named = env and is_free and not account_of(channel)
    return env if is_named else variable_for(key) or variable_of(key)


def platform_variables(channel: str, *setting: str) -> tuple[str, ...]:
    """Return every variable that can set a channel's setting."""
    full = variable_of(own_key(channel, *setting))
    short = PREFIX + full.removeprefix(f"{PREFIX}PLATFORMS{LEVELS}").replace(
        f"{LEVELS}EXTRA{LEVELS}", LEVELS, 1
    )
    return tuple(dict.fromkeys((platform_variable(channel, *setting), full, short)))


def own_key(channel: str, *setting: str) -> Key:
    """Return the key of a setting that a channel's manifest names."""
    return (*settings_key(channel), _EXTRA, *setting)


# Any: the manifest defines the values of a setting.
def write_platform(
    home: Path,
    channel: str,
    *,
    secrets: Mapping[Place, str],
    settings: Mapping[Place, Any],
    plugin: str | None = None,
    variables: Mapping[Place, str] = MappingProxyType({}),
) -> list[Path]:
    """Enable a channel with these settings; return the files, those kept from before last.

    `plugin` is the one that provides it, if it is not listed yet. `variables` are the names for
    secrets that a manifest gives; others have that of their place.
    """
    config = file_text(home / YAML)
    if plugin is not None:
        config = add_item(config, "plugins", plugin)
    config = set_value(config, (*settings_key(channel), "enabled"), True)
    for place, value in settings.items():
        config = set_value(config, own_key(channel, *place), value)
    kept: list[Path] = []
    written: list[Path] = []
    if secrets:
        text = file_text(home / DOTENV)
        for place, value in secrets.items():
            variable = variables.get(place) or platform_variable(channel, *place)
            text = with_variable(text, variable, value)
        kept += replace_file(home / DOTENV, text)
        written.append(home / DOTENV)
    kept += replace_file(home / YAML, config)
    return [*written, home / YAML, *kept]
