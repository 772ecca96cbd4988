"""The channels of the enabled platforms: built-in ones by name, others by plugin.

A built-in channel is imported only if its platform is enabled. A plugin of the same name replaces
it. A channel that cannot be built does not prevent the start: an `UnusableChannel` in its place
says why.
"""

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from hermes.app.channel_files import open_state
from hermes.app.credential_locks import check_shared
from hermes.app.unusable import UnusableChannel
from hermes.config import Settings
from hermes.config.chat_settings import RateSettings
from hermes.errors import ConfigurationError, HermesError
from hermes.message.channel_name import account_of, at_account, platform_of, settings_place
from hermes.message.ids import make_id
from hermes.net.client import HttpClient
from hermes.outbox.returns import take_arrivals, take_returns
from hermes.plugins.faults import fault_text
from hermes.plugins.manifest import Manifest, ManifestFile, manifests_in, read_settings
from hermes.plugins.registry import Platform, Registry
from hermes.ports.channel import (
    Capabilities,
    Channel,
    TellArrived,
    TellReturned,
    WebhookChannel,
)
from hermes.ports.channel_setup import ChannelSetup, MediaFiles
from hermes.ports.channel_state import ChannelState, PlatformState
from hermes.ports.clock import Clock
from hermes.ports.outbox import OutboxStore
from hermes.similar_words import did_you_mean

_CHANNELS: Final = "hermes.channels"
# Plugins that come with Hermes and are listed in `plugins` like any other.
_CONTRIB: Final = "hermes.contrib"
# The gateway's own server always serves these; they need not be enabled.
_OWN: Final = frozenset({"rest", "web"})


def built_in() -> Mapping[str, ManifestFile]:
    """Return the platforms that come with Hermes by name, each with its manifest."""
    found = manifests_in(_CHANNELS)
    return {name: file for name, file in found.items() if name not in _OWN}


def plugged_in() -> tuple[str, ...]:
    """Return the names of the platforms that come with Hermes as plugins."""
    return tuple(manifests_in(_CONTRIB))


def plugin_of(name: str) -> str | None:
    """Return the plugin in Hermes that provides a platform; import nothing."""
    found = manifests_in(_CONTRIB).get(name)
    return None if found is None else found.package


def find_platform(name: str, registry: Registry) -> Platform | None:
    """Return the platform of a channel, importing a built-in one; None if there is none."""
    name = platform_of(name)
    known = registry.platforms.get(name)
    if known is None and (one := built_in().get(name)) is not None:
        make = getattr(importlib.import_module(f"{one.package}.channel"), one.make)
        registry.platform(one.package, make, manifest=one.file)
        known = registry.platforms.get(name)
    return known


async def make_push_channels(
    settings: Settings,
    registry: Registry,
    *,
    client: HttpClient,
    home: Path,
    clock: Clock,
    media_cache: MediaFiles,
    outbox: OutboxStore,
    states: ChannelState,
) -> Mapping[str, Channel]:
    """Return the channel of every enabled platform by name; an `UnusableChannel` if it cannot be
    built.
    """

    async def make(name: str) -> Channel:
        try:
            return make_one(
                name,
                settings,
                registry,
                client=client,
                state=await open_state(name, states, home=home),
                clock=clock,
                media_cache=media_cache,
                returned=take_returns(name, outbox, clock=clock),
                arrived=take_arrivals(name, outbox, clock=clock),
            )
        except HermesError as error:
            return _unusable(name, at_account(str(error), name), registry)

    enabled = [name for name, chosen in settings.channels.items() if chosen.enabled]
    return {name: await make(name) for name in enabled}


def _unusable(name: str, problem: str, registry: Registry) -> Channel:
    """Return the replacement of a channel; the rest of its manifest still holds."""
    platform = registry.platforms.get(platform_of(name))
    can = Capabilities(delivery="push") if platform is None else platform.manifest.capabilities
    return UnusableChannel(name, problem, capabilities=can)


def make_one(
    name: str,
    settings: Settings,
    registry: Registry,
    *,
    client: HttpClient,
    state: PlatformState,
    clock: Clock,
    media_cache: MediaFiles,
    returned: TellReturned | None = None,
    arrived: TellArrived | None = None,
    alone: bool = False,
) -> Channel:
    """Return the channel of one platform of the settings; raise `ConfigurationError`.

    One that is `alone` sends once, beside no gateway: the platform's own sender, if it has one.
    """
    with _channel_code(name):
        platform = find_platform(name, registry)
        if platform is None:
            raise unknown_platform(name, registry)
        check_requirements(platform.manifest)
        check_shared(name, settings, registry)
        chosen = settings.channels[name]
        table = dict(chosen.extra)
        account = account_of(name) or _account(table)
        make = platform.sender if alone and platform.sender is not None else platform.make
        made = make(
            ChannelSetup(
                name=name,
                account=account,
                settings=read_settings(platform.manifest, table, at=settings_place(name)),
                capabilities=_capabilities(platform, chosen.rates),
                client=client,
                clock=clock,
                make_id=make_id,
                media=media_cache,
                state=state,
                webhook_url=webhook_url_of(settings, name),
                returned=returned,
                arrived=arrived,
                rows=platform.manifest.rows,
                ca_bundle=str(settings.net.ca_bundle or ""),
                ipv4_only=settings.ipv4_only,
            )
        )
    if not isinstance(made, Channel):
        raise _faulty(name, f"its make() returned {type(made).__name__}, which is not a channel")
    if made.name != name:
        raise _faulty(name, f"the channel's name is {made.name!r}, not the name of its setup")
    if isinstance(made, WebhookChannel):
        _check_address(name, settings)
    return made


def check_requirements(manifest: Manifest) -> None:
    """Raise `ConfigurationError` if something is missing that the channel needs on the machine."""
    problem = manifest.requires.problem()
    if problem:
        raise ConfigurationError(
            f"platforms.{manifest.name}: {problem}, or disable the platform: without it the channel "
            "does not start"
        )


def _check_address(name: str, settings: Settings) -> None:
    """Raise `ConfigurationError` for an account whose webhook would hide one of its platform's own."""
    platform, account = platform_of(name), account_of(name)
    own = settings.platforms[platform].extra
    hidden = [key for key, rows in own.items() if isinstance(rows, Mapping) and account in rows]
    if account and hidden:
        raise ConfigurationError(
            f"{settings_place(name)}: platforms.{platform}.{hidden[0]} has an entry of the same name, "
            "and both would be called at the same address. Rename one of them"
        )


@contextmanager
def _channel_code(name: str) -> Iterator[None]:
    """Translate what a channel's own code raises."""
    try:
        yield
    except HermesError:
        raise
    # Boundary of a channel's own code, possibly a plugin's: it may raise anything.
    except Exception as error:
        raise _faulty(name, fault_text(error)) from error


def _faulty(name: str, fault: str) -> ConfigurationError:
    return ConfigurationError(
        f"{settings_place(name)}: its channel cannot be made: {fault}. Correct its plugin, or disable the "
        "platform: without it the channel does not start"
    )


def plugged_platforms(settings: Settings, registry: Registry) -> Mapping[str, str]:
    """Return the package of every enabled channel from a plugin, including replaced built-in ones."""
    found = {
        name: registry.platforms.get(platform_of(name))
        for name, chosen in settings.channels.items()
        if chosen.enabled
    }
    return {
        name: platform.package
        for name, platform in found.items()
        if platform is not None and not platform.package.startswith(f"{_CHANNELS}.")
    }


def unknown_platform(name: str, registry: Registry) -> ConfigurationError:
    """Return the error for a platform that nothing provides."""
    name = platform_of(name)
    plugin = plugin_of(name)
    if plugin is not None:
        return ConfigurationError(
            f"platforms.{name}: it is a plugin; add {plugin} to the list `plugins` in "
            f"config.yaml, as `hermes channels add {name}` does"
        )
    known = sorted({*built_in(), *plugged_in(), *registry.platforms})
    return ConfigurationError(
        f"platforms.{name}: no channel of that name is installed{did_you_mean(name, known)}; "
        f"known: {', '.join(known)}. Add its plugin to `plugins`, or remove the platform"
    )


def _capabilities(platform: Platform, rates: RateSettings) -> Capabilities:
    """Return the manifest's capabilities with the operator's rate limits."""
    chosen = {name: rate for name, rate in rates.model_dump().items() if rate is not None}
    manifest = platform.manifest
    return msgspec.structs.replace(manifest.capabilities, hint=manifest.hint, **chosen)


def _account(table: dict[str, Any]) -> str:
    """Return how the platform's own account is called: it may have a name."""
    return str(table.pop("account", None) or "default")


def webhook_url_of(settings: Settings, name: str) -> str | None:
    """Return the address at which a platform calls this gateway, if it has one."""
    public = settings.server.public_url
    return None if public is None else f"{str(public).rstrip('/')}/webhooks/{name}"
