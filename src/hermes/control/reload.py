"""`hermes reload`: take what can be taken over from a changed configuration, and name the rest.

Only the level of the logs and the MCP servers change while the gateway runs; everything else was
handed out as a frozen value at the start, and needs a restart.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec
import structlog

from hermes.config import Loaded, Settings
from hermes.config.settings import leaves
from hermes.control.mcp import McpDesk
from hermes.errors import BadRequest, ConfigurationError
from hermes.tools.mcp.report import Diff

_log = structlog.get_logger(__name__)
LogLevel = Literal["debug", "info", "warning", "error"]
_LEVEL = "logs.level"
_MCP = "mcp."


class ReloadReport(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that changed: which of them hold now, and which after a restart."""

    applied: tuple[str, ...] = ()
    needs_restart: tuple[str, ...] = ()
    mcp: Diff | None = None


class ReloadDesk:
    """Reads the configuration again for a gateway that started with `settings`."""

    def __init__(
        self,
        settings: Settings,
        *,
        reread: Callable[[], Loaded],
        mcp: McpDesk,
        set_level: Callable[[LogLevel], None],
    ) -> None:
        self._held = _flat(settings)
        self._reread = reread
        self._mcp = mcp
        self._set_level = set_level

    async def reload(self) -> ReloadReport:
        """Apply what can be applied; raises `BadRequest` if the configuration is wrong."""
        try:
            loaded = await asyncio.to_thread(self._reread)
        except ConfigurationError as error:
            raise BadRequest(
                f"Nothing was changed, because the configuration is wrong: {error}"
            ) from error
        found = _flat(loaded.settings)
        changed = [
            key
            for key in sorted(found.keys() | self._held.keys())
            if _differs(key, found, self._held)
        ]
        applied = tuple(key for key in changed if key == _LEVEL or key.startswith(_MCP))
        if _LEVEL in applied:
            self._set_level(loaded.settings.logs.level)
        is_mcp = any(key.startswith(_MCP) for key in applied)
        diff = await self._mcp.reload() if is_mcp else None
        self._take(applied, found)
        rest = tuple(key for key in changed if key not in applied)
        _log.info("reloaded", applied=applied, needs_restart=rest)
        return ReloadReport(applied=applied, needs_restart=rest, mcp=diff)

    def _take(self, applied: tuple[str, ...], found: Mapping[str, object]) -> None:
        kept = {key: value for key, value in self._held.items() if key not in applied}
        self._held = {**kept, **{key: found[key] for key in applied if key in found}}


def _flat(settings: Settings) -> dict[str, object]:
    return {".".join(key): value for key, value in leaves(settings)}


def _differs(key: str, found: Mapping[str, object], held: Mapping[str, object]) -> bool:
    return (key in found) != (key in held) or found[key] != held[key]
