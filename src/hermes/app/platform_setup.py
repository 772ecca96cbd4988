"""The set-up calls of a configured platform: whose credential it is, what is registered, a code to scan.

`hermes channels add` makes them with the settings that it is about to write, `hermes doctor --call` with
those of the home.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from hermes.app.adapters import make_client, make_registry
from hermes.app.platforms import find_platform, plugin_of, unknown_platform, webhook_url_of
from hermes.channel_kit.setup_calls import CredentialProof, SetupCalls, SetupCommand, ShowCode
from hermes.config import Settings
from hermes.errors import HermesError
from hermes.message.channel_name import account_of, platform_of, settings_place
from hermes.message.ids import make_id
from hermes.plugins.manifest import Manifest, load_manifest, read_settings
from hermes.plugins.registry import Registry
from hermes.sessions.commands import BUILT_IN

_LONGEST_S = 30.0


class PlatformProof(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whose credential a platform has; a `problem` of None means that the platform said so."""

    platform: str
    shows: str = ""
    invite: str = ""
    problem: str | None = None


class Registration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a call changed on the platform; a `problem` of None means that it did."""

    does: str
    problem: str | None = None


async def prove(platform: str, settings: Settings, *, home: Path) -> PlatformProof | None:
    """Ask a platform whose credential is configured; None if its manifest has no such call for it."""
    try:
        async with _calls(platform, settings, home=home) as calls:
            proof = await _proof(calls)
    except TimeoutError:
        return PlatformProof(platform=platform, problem=f"no answer within {_LONGEST_S:g} s")
    except HermesError as error:
        return PlatformProof(platform=platform, problem=str(error))
    if proof is None:
        return None
    return PlatformProof(platform=platform, shows=proof.shows, invite=proof.invite)


async def prove_all(settings: Settings, *, home: Path) -> tuple[PlatformProof, ...]:
    """Ask every enabled platform whose manifest has such a call."""
    enabled = [name for name, one in settings.channels.items() if one.enabled]
    asked = await asyncio.gather(*(prove(name, settings, home=home) for name in enabled))
    return tuple(one for one in asked if one is not None)


async def to_register(platform: str, settings: Settings, *, home: Path) -> tuple[str, ...]:
    """Return what registering would change on the platform, call by call."""
    async with _calls(platform, settings, home=home) as calls:
        rows = calls.registers()
        if rows:
            await _proof(calls)
        return tuple(calls.does(row) for row in rows)


async def register(platform: str, settings: Settings, *, home: Path) -> tuple[Registration, ...]:
    """Make the registering calls one after another; the first that fails is the last."""
    done: list[Registration] = []
    async with _calls(platform, settings, home=home) as calls:
        rows = calls.registers()
        if rows:
            await _proof(calls)
        for row in rows:
            does = calls.does(row)
            try:
                async with asyncio.timeout(_LONGEST_S):
                    await calls.register(row)
            except TimeoutError:
                done.append(Registration(does=does, problem=f"no answer within {_LONGEST_S:g} s"))
                break
            except HermesError as error:
                done.append(Registration(does=does, problem=str(error)))
                break
            done.append(Registration(does=does))
    return tuple(done)


# Any: a setting's value is whatever its manifest says.
async def scan(
    manifest: Manifest, values: Mapping[str, Any], settings: Settings, *, show: ShowCode
) -> Mapping[str, str]:
    """Show the platform's code, wait until it is scanned, and return the settings that it gave."""
    client = make_client(settings)
    try:
        made = _made(manifest, values, settings, client=client, registry=Registry())
        return await made.scan(show)
    finally:
        await client.close()


async def _proof(calls: SetupCalls) -> CredentialProof | None:
    async with asyncio.timeout(_LONGEST_S):
        return await calls.prove()


@asynccontextmanager
async def _calls(platform: str, settings: Settings, *, home: Path) -> AsyncIterator[SetupCalls]:
    registry = make_registry(settings, home=home, on_status=lambda _: None)
    manifest = _manifest(platform, registry)
    table = {
        name: value
        for name, value in settings.channels[platform].extra.items()
        if name != "account" or account_of(platform)
    }
    client = make_client(settings)
    try:
        values = read_settings(manifest, table, at=settings_place(platform))
        yield _made(manifest, values, settings, client=client, registry=registry, channel=platform)
    finally:
        await client.close()


def _manifest(platform: str, registry: Registry) -> Manifest:
    found = find_platform(platform, registry)
    if found is not None:
        return found.manifest
    plugin = plugin_of(platform_of(platform))
    if plugin is None:
        raise unknown_platform(platform, registry)
    return load_manifest(plugin)


# Any: the client is only passed on; a setting's value is whatever its manifest says.
def _made(
    manifest: Manifest,
    values: Mapping[str, Any],
    settings: Settings,
    *,
    client: Any,
    registry: Registry,
    channel: str = "",
) -> SetupCalls:
    commands = [SetupCommand(one.name, one.about, one.use) for one in BUILT_IN]
    plugged = registry.commands.values()
    commands += [SetupCommand(one.name, one.about, one.use) for one in plugged]
    return SetupCalls(
        client,
        manifest.setup,
        platform=manifest.name,
        settings=values,
        secrets=[name for name, one in manifest.settings.items() if one.type == "secret"],
        make_id=make_id,
        webhook_url=webhook_url_of(settings, channel or manifest.name),
        wire=manifest.rows,
        commands=commands,
    )
