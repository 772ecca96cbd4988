"""Checks settings below `platforms.NAME.extra` against the manifest of the platform, before they are written.

The settings know no platform, so they take any key there; the channel would refuse a wrong one only
at the next start. A platform whose plugin cannot be loaded is not checked.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes.config.keys import dotted
from hermes.config.platform_files import own_key
from hermes.config.settings import Key, Settings
from hermes.errors import BadRequest, HermesError
from hermes.lazy import lazy
from hermes.message.channel_name import account_of, channel_name, platform_of
from hermes.plugins.manifest import ManifestSetting
from hermes.similar_words import nearest

if TYPE_CHECKING:
    from hermes.app.channel_test import look_up
else:
    look_up = lazy("hermes.app.channel_test:look_up")

# Every platform may name its own account; the others have a name already.
_OF_ALL = {"account": ManifestSetting(help="")}


# Any: a piece of the configuration.
def check_platform_keys(key: Key, value: Any, settings: Settings, *, home: Path) -> None:
    """Raise `BadRequest` with the nearest key if a value sets a key that its platform lacks."""
    for channel, names in _platform_keys(key, value):
        known = _known(channel, settings, home)
        if known is not None:
            _check(own_key(channel), names, known)


def _platform_keys(key: Key, value: Any) -> Iterator[tuple[str, Key]]:
    """Yield each channel with each path below its `extra` that a value sets."""
    tree = value
    for name in reversed(key):
        tree = {name: tree}
    for platform, table in _table(tree.get("platforms")).items():
        bots = {"": table, **_table(_table(table).get("accounts"))}
        for account, bot in bots.items():
            for path in _paths(_table(_table(bot).get("extra"))):
                yield channel_name(platform, account), path


def _paths(table: Mapping[str, Any]) -> Iterator[Key]:
    for name, inner in table.items():
        below = list(_paths(_table(inner)))
        yield from ((name, *one) for one in below) if below else ((name,),)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _known(channel: str, settings: Settings, home: Path) -> Mapping[str, ManifestSetting] | None:
    try:
        known = look_up(platform_of(channel), settings, home=home).manifest.settings
    except HermesError:
        return None
    return known if account_of(channel) else {**_OF_ALL, **known}


def _check(above: Key, names: Key, known: Mapping[str, ManifestSetting]) -> None:
    name, below = names[0], names[1:]
    setting = known.get(name)
    if setting is None:
        meant = nearest(name, known)
        hint = f"Did you mean {dotted((*above, meant))}? " if meant else ""
        raise BadRequest(
            f"{dotted((*above, name))} is not a setting of this platform. {hint}It has: "
            f"{', '.join(sorted(known))}."
        )
    if setting.entries and len(below) > 1:
        _check((*above, name, below[0]), below[1:], setting.entries)
