"""The credentials of the enabled channels that only one process of this machine may use, once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hermes.config import Settings
from hermes.errors import ConfigurationError
from hermes.message.channel_name import platform_of, settings_place
from hermes.ops.credential_locks import CredentialLock, default_folder
from hermes.plugins.registry import Registry
from hermes.ports.clock import Clock


def make_rights(
    settings: Settings, registry: Registry, *, home: Path, clock: Clock
) -> dict[str, CredentialLock]:
    """Return the lock of every enabled channel whose manifest names a credential to lock."""
    folder = settings.process.lock_dir or default_folder()
    return {
        name: CredentialLock(
            folder,
            credential,
            platform=platform_of(name),
            setting=f"{settings_place(name)}.{setting}",
            home=home,
            clock=clock,
        )
        for name, setting, credential in _credentials(settings, registry)
    }


def check_shared(channel: str, settings: Settings, registry: Registry) -> None:
    """Raise `ConfigurationError` if a channel and another one of its platform cannot be used together.

    Two bots with one credential would take each other's messages. On two servers one id may be two
    people, who would have each other's rights. The bot that comes first in the configuration stays.
    """
    _check_same_people(channel, settings, registry)
    first: dict[tuple[str, str], str] = {}
    for name, setting, credential in _credentials(settings, registry):
        other = first.setdefault((platform_of(name), credential), name)
        if name == channel and other != name:
            raise ConfigurationError(
                f"{settings_place(name)}.{setting}: it is the same credential as that of {other} "
                f"({settings_place(other)}.{setting}), and each bot needs its own. Set another one, or "
                f"set {settings_place(name)}.enabled to false"
            )


def _check_same_people(channel: str, settings: Settings, registry: Registry) -> None:
    platform = registry.platforms.get(platform_of(channel))
    setting = "" if platform is None else platform.manifest.auth.ids_of
    if not setting:
        return
    chosen = {
        name: _text(one.extra.get(setting)).casefold()
        for name, one in settings.channels.items()
        if one.enabled and platform_of(name) == platform_of(channel)
    }
    first = next(iter(chosen), channel)
    if chosen.get(channel) != chosen.get(first):
        raise ConfigurationError(
            f"{settings_place(channel)}.{setting}: expected that of {first}, since somebody's name on "
            f"another one may be somebody else's. Run this bot in a gateway of its own, or set "
            f"{settings_place(channel)}.enabled to false"
        )


def _credentials(settings: Settings, registry: Registry) -> Iterator[tuple[str, str, str]]:
    """Yield every enabled channel that has a credential to lock, its setting and its value."""
    for name, chosen in settings.channels.items():
        platform = registry.platforms.get(platform_of(name)) if chosen.enabled else None
        names = [] if platform is None else platform.manifest.auth.lock.split()
        values = [_text(chosen.extra.get(one)) for one in names]
        if values and values[-1]:
            yield name, names[-1], "\0".join(values)


# Any: what a setting holds is its manifest's business.
def _text(given: Any) -> str:
    reveal = getattr(given, "get_secret_value", None)
    return str(reveal() if callable(reveal) else given or "").strip()
