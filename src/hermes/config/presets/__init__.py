"""Presets: what a home of one kind of business begins with, a TOML file each.

Part of config; `load` reads the chosen one as the weakest layer. The words of a business stand in
its file and nowhere else.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

PresetName = Literal["concierge"]


# Any: a file's values can be anything until they are validated.
@cache
def preset_tree(name: str) -> Mapping[Any, Any]:
    """Return the settings of a preset; none if there is no such preset."""
    if name not in get_args(PresetName):
        return {}
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


@cache
def tiers_of_presets() -> Mapping[str, tuple[str, ...]]:
    """Return the tiers that presets bring.

    An agent or a person may have one from the time when it was built in, so that each of them can
    be used by its name without its preset.
    """
    trees = map(preset_tree, get_args(PresetName))
    return {
        tier: tuple(chain)
        for tree in trees
        for tier, chain in tree.get("routing", {}).get("tiers", {}).items()
    }
