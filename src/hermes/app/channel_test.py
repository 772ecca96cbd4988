"""One real connection of a platform, made by the gateway's own code, and closed again.

`hermes channels add` tests with it before anything is stored. Messages that arrive meanwhile are
not accepted: the platform sends them again.
"""

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from hermes.app.adapters import make_client, make_registry
from hermes.app.credential_locks import make_rights
from hermes.app.platforms import (
    check_requirements,
    find_platform,
    make_one,
    plugin_of,
    unknown_platform,
)
from hermes.channel_kit.memory_state import MemoryChannelState
from hermes.config import Settings
from hermes.errors import HermesError, Overloaded
from hermes.media.cache import MediaCache
from hermes.message.channel_name import at_account
from hermes.message.event import MessageEvent
from hermes.plugins.manifest import Manifest, load_manifest
from hermes.plugins.registry import Registry
from hermes.ports.channel import Acceptance, Channel
from hermes.ports.channel_setup import Suggestion
from hermes.ports.channel_state import PlatformState
from hermes.ports.clock import Clock

_LONGEST_S = 30.0
_RETRY_S = 5.0
Suggest = Callable[[str, Mapping[str, Any]], Awaitable[Suggestion]]


class ConnectionResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the connection; a `problem` of None means success."""

    platform: str
    seconds: float = 0.0
    problem: str | None = None


class PlatformPackage(msgspec.Struct, frozen=True):
    """A platform's manifest and package, and the plugin that must be listed before it can
    be used.
    """

    manifest: Manifest
    package: str
    plugin: str | None = None


def look_up(platform: str, settings: Settings, *, home: Path) -> PlatformPackage:
    """Return a platform's package; raise `ConfigurationError` if there is none, or it needs more."""
    registry = make_registry(settings, home=home, on_status=_ignore)
    known = find_platform(platform, registry)
    if known is not None:
        found = PlatformPackage(known.manifest, known.package)
    else:
        plugin = plugin_of(platform)
        if plugin is None:
            raise unknown_platform(platform, registry)
        found = PlatformPackage(load_manifest(plugin), plugin, plugin)
    check_requirements(found.manifest)
    return found


# Any: a setting's value is whatever its manifest says.
async def suggest(found: PlatformPackage, setting: str, *, table: Mapping[str, Any]) -> Suggestion:
    """Return what a channel's package suggests for a setting, from the other settings;
    never raise.
    """
    ask: Suggest = importlib.import_module(f"{found.package}.suggestions").suggest
    try:
        async with asyncio.timeout(_LONGEST_S):
            return await ask(setting, table)
    except TimeoutError:
        return Suggestion("", f"{setting} cannot be determined: no answer within {_LONGEST_S:g} s.")
    except HermesError as error:
        return Suggestion("", f"{setting} cannot be determined: {error}.")


async def try_channel(
    platform: str, settings: Settings, *, home: Path, clock: Clock
) -> ConnectionResult:
    """Connect a platform with the given settings, within 30 seconds, and disconnect it again."""
    began = clock.monotonic()
    try:
        await _connect(platform, settings, home=home, clock=clock)
    except TimeoutError:
        problem: str | None = f"no connection within {_LONGEST_S:g} s"
    except HermesError as error:
        problem = at_account(str(error), platform)
    else:
        problem = None
    return ConnectionResult(platform=platform, seconds=clock.monotonic() - began, problem=problem)


def unusable_platforms(settings: Settings, registry: Registry, *, clock: Clock) -> dict[str, str]:
    """Return why channels of enabled platforms cannot be built, by name; connect nothing."""
    found: dict[str, str] = {}
    client = make_client(settings)
    with TemporaryDirectory(prefix="hermes-channel-") as folder:
        media_cache = MediaCache(Path(folder) / "media", client)
        for name in (name for name, one in settings.channels.items() if one.enabled):
            try:
                make_one(
                    name,
                    settings,
                    registry,
                    client=client,
                    state=_forgetful(name),
                    clock=clock,
                    media_cache=media_cache,
                )
            except HermesError as error:
                found[name] = at_account(str(error), name)
    return found


async def _connect(platform: str, settings: Settings, *, home: Path, clock: Clock) -> None:
    client = make_client(settings)
    registry = make_registry(settings, home=home, on_status=_ignore)
    try:
        with TemporaryDirectory(prefix="hermes-channel-") as folder:
            channel = make_one(
                platform,
                settings,
                registry,
                client=client,
                state=_forgetful(platform),
                clock=clock,
                media_cache=MediaCache(Path(folder) / "media", client),
            )
            await _with_right(channel, settings, registry, home=home, clock=clock)
    finally:
        await client.close()


async def _with_right(
    channel: Channel, settings: Settings, registry: Registry, *, home: Path, clock: Clock
) -> None:
    """Connect while no other process of the machine uses the credential."""
    right = make_rights(settings, registry, home=home, clock=clock).get(channel.name)
    if right is not None:
        right.take()
    try:
        async with asyncio.timeout(_LONGEST_S):
            try:
                await channel.connect(not_now)
            finally:
                await channel.disconnect()
    finally:
        if right is not None:
            right.release()


async def not_now(_event: MessageEvent) -> Acceptance:
    """Accept nothing: the platform sends it again."""
    raise Overloaded("no gateway runs here now; send this again", retry_after=_RETRY_S)


def _forgetful(platform: str) -> PlatformState:
    return PlatformState(MemoryChannelState(), platform)


def _ignore(_status: str) -> None:
    """A short test reports nothing."""
