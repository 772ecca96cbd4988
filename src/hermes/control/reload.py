"""`hermes reload`: take what can be taken over from a changed configuration, and name the rest.

Only the level of the logs, the MCP servers and the platforms' own settings, such as tokens, change
while the gateway runs; everything else was handed out as a frozen value at the start, and needs a
restart.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Literal

import structlog

from hermes.config import LoadedConfig, Settings
from hermes.config.settings import leaves
from hermes.control.mcp import McpOperations
from hermes.control.runtime import ReloadReport
from hermes.control.status import ChannelStatus
from hermes.errors import BadRequest, ConfigurationError
from hermes.message.channel_name import settings_place

_log = structlog.get_logger(__name__)
LogLevel = Literal["debug", "info", "warning", "error"]
_LEVEL = "logs.level"
_MCP = "mcp."
# Connects a platform with the settings of its own that these have; returns how its first try went.
Renew = Callable[[str, Settings], Awaitable[ChannelStatus]]


class ReloadOperations:
    """Reads the configuration again for a gateway that started with `settings`."""

    def __init__(
        self,
        settings: Settings,
        *,
        reread: Callable[[], LoadedConfig],
        mcp: McpOperations,
        set_level: Callable[[LogLevel], None],
        renew: Renew,
    ) -> None:
        self._held = _flat(settings)
        self._enabled = frozenset(name for name, one in settings.channels.items() if one.enabled)
        self._renew = renew
        self._reread = reread
        self._mcp = mcp
        self._set_level = set_level
        # One at a time: each reports only what the one before has not applied.
        self._turn = asyncio.Lock()

    async def reload(self) -> ReloadReport:
        """Apply what can be applied; raises `BadRequest` if the configuration is wrong."""
        async with self._turn:
            return await self._apply()

    async def _apply(self) -> ReloadReport:
        settings = await self._read()
        found = _flat(settings)
        changed = [
            key
            for key in sorted(found.keys() | self._held.keys())
            if _differs(key, found, self._held)
        ]
        platforms = [name for name in sorted(self._enabled) if self._is_own(name, changed, found)]
        applied = tuple(key for key in changed if is_reloadable(key, platforms))
        if _LEVEL in applied:
            self._set_level(settings.logs.level)
        is_mcp = any(key.startswith(_MCP) for key in applied)
        diff = await self._mcp.reload() if is_mcp else None
        channels = [await self._connect(name, settings) for name in platforms]
        self._take(applied, found)
        rest = tuple(key for key in changed if key not in applied)
        _log.info("reloaded", applied=applied, needs_restart=rest)
        return ReloadReport(applied=applied, needs_restart=rest, mcp=diff, channels=tuple(channels))

    async def reconnect(self, platform: str) -> None:
        """Reconnect a platform with its settings from the current configuration."""
        async with self._turn:
            settings = await self._read()
            found = _flat(settings)
            own = f"{settings_place(platform)}.extra."
            await self._connect(platform, settings)
            self._take(tuple(key for key in {*found, *self._held} if key.startswith(own)), found)

    async def _read(self) -> Settings:
        try:
            return (await asyncio.to_thread(self._reread)).settings
        except ConfigurationError as error:
            raise BadRequest(
                f"Nothing was changed, because the configuration is wrong: {error}"
            ) from error

    async def _connect(self, platform: str, settings: Settings) -> ChannelStatus:
        try:
            return await self._renew(platform, settings)
        except ConfigurationError as error:
            raise BadRequest(f"{platform} stays as it is: {error}") from error

    def _is_own(self, platform: str, changed: list[str], found: Mapping[str, object]) -> bool:
        """Tell whether settings changed that are the channel's own, of a platform that stays on."""
        prefix = f"{settings_place(platform)}."
        is_on = found.get(f"{prefix}enabled") is True
        return is_on and any(key.startswith(f"{prefix}extra.") for key in changed)

    def _take(self, applied: tuple[str, ...], found: Mapping[str, object]) -> None:
        kept = {key: value for key, value in self._held.items() if key not in applied}
        self._held = {**kept, **{key: found[key] for key in applied if key in found}}


def is_reloadable(key: str, platforms: Collection[str]) -> bool:
    """Return whether a setting can change while the gateway runs; `platforms` are those that are on."""
    own = tuple(f"{settings_place(name)}.extra." for name in platforms)
    return key == _LEVEL or key.startswith((_MCP, *own))


def _flat(settings: Settings) -> dict[str, object]:
    return {".".join(key): value for key, value in leaves(settings)}


def _differs(key: str, found: Mapping[str, object], held: Mapping[str, object]) -> bool:
    return (key in found) != (key in held) or found[key] != held[key]
