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
from hermes.config.variables import LEVELS, PREFIX, WELL_KNOWN, variable_for, variable_of
from hermes.config.yaml_edit import add_item, set_value

# A setting of a platform, or of a row of one of its tables.
Place = tuple[str, ...]
_EXTRA: Final = "extra"


def platform_variable(platform: str, *setting: str, env: str = "") -> str:
    """Return the variable that holds a platform's setting, such as a secret.

    `env` is the name that a manifest gives; it counts unless it means something else already.
    """
    key = ("platforms", platform, _EXTRA, *setting)
    row = WELL_KNOWN.get(env)
    is_own = env and not env.startswith(PREFIX) and (row is None or row.key == key)
    return env if is_own else variable_for(key) or variable_of(key)


def platform_variables(platform: str, *setting: str) -> tuple[str, ...]:
    """Return every variable that can set a platform's setting."""
    full = variable_of(("platforms", platform, _EXTRA, *setting))
    short = PREFIX + full.removeprefix(f"{PREFIX}PLATFORMS{LEVELS}").replace(
        f"{LEVELS}EXTRA{LEVELS}", LEVELS, 1
    )
    return tuple(dict.fromkeys((platform_variable(platform, *setting), full, short)))


# Any: the manifest defines the values of a setting.
def write_platform(
    home: Path,
    platform: str,
    *,
    secrets: Mapping[Place, str],
    settings: Mapping[Place, Any],
    plugin: str | None = None,
    variables: Mapping[Place, str] = MappingProxyType({}),
) -> list[Path]:
    """Enable a platform with these settings; return the files, those kept from before last.

    `plugin` is the one that provides it, if it is not listed yet. `variables` are the names for
    secrets that a manifest gives; others have that of their place.
    """
    config = file_text(home / YAML)
    if plugin is not None:
        config = add_item(config, "plugins", plugin)
    config = set_value(config, ("platforms", platform, "enabled"), True)
    for place, value in settings.items():
        config = set_value(config, ("platforms", platform, _EXTRA, *place), value)
    kept: list[Path] = []
    written: list[Path] = []
    if secrets:
        text = file_text(home / DOTENV)
        for place, value in secrets.items():
            variable = variables.get(place) or platform_variable(platform, *place)
            text = with_variable(text, variable, value)
        kept += replace_file(home / DOTENV, text)
        written.append(home / DOTENV)
    kept += replace_file(home / YAML, config)
    return [*written, home / YAML, *kept]
