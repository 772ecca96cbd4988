"""All MCP servers of a gateway: their tools as one live mapping, reload with a diff, and status."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import structlog

from hermes.config import McpServerSettings, McpSettings
from hermes.errors import TryLater
from hermes.lazy import lazy
from hermes.ports.clock import Clock
from hermes.ports.tool import Tool
from hermes.tools.mcp.calls import Tell
from hermes.tools.mcp.connection import Connect, LinkLost
from hermes.tools.mcp.grants import GrantStore
from hermes.tools.mcp.questions import AskPerson
from hermes.tools.mcp.report import Diff, McpReport
from hermes.tools.mcp.server import McpServer, ServerContext
from hermes.tools.mcp.tool import McpTool
from hermes.tools.mcp.traffic_limit import Sleep

if TYPE_CHECKING:
    from hermes.tools.mcp.sdk_connection import sdk_connect
else:
    sdk_connect = lazy("hermes.tools.mcp.sdk_connection:sdk_connect")

OnChange = Callable[[Diff], None]
# The person who reloads waits for the answer, and changed servers must be stopped first.
_RELOAD_WAIT_S = 8.0
_log = structlog.get_logger(__name__)


async def load_sdk() -> Connect:
    """Return the real connect function; the import takes a second, so it is made off the loop."""
    try:
        return await asyncio.to_thread(sdk_connect)
    except ImportError as error:
        raise LinkLost(f"the package `mcp` cannot be imported ({error}); install it") from error


class LiveTools(Mapping[str, Tool]):
    """The current tools of all servers by name; each access sees one complete list."""

    def __init__(self) -> None:
        self.now: Mapping[str, McpTool] = {}
        self.version = 0

    def __getitem__(self, name: str) -> Tool:
        return self.now[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.now)

    def __len__(self) -> int:
        return len(self.now)


class McpServers:
    """The MCP client of a gateway."""

    def __init__(
        self,
        settings: McpSettings,
        *,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        connect: Callable[[], Awaitable[Connect]] = load_sdk,
        ask: AskPerson | None = None,
        tell: Tell | None = None,
        proxy: str | None = None,
        ipv4_only: bool = False,
        home: Path | None = None,
        ca_bundle: Path | None = None,
        mask: Callable[[str], str] = str,
    ) -> None:
        # As they are in use; `reload` replaces them.
        self.settings = settings
        self._around = ServerContext(
            connect=connect,
            clock=clock,
            sleep=sleep,
            chance=chance,
            servers=lambda: tuple(self.settings.servers),
            platforms=lambda: self.settings.platforms,
            check_s=settings.check_s,
            ask=ask,
            ask_timeout_s=settings.ask_timeout_s,
            tell=tell,
            proxy=proxy,
            ipv4_only=ipv4_only,
            home=home,
            ca_bundle=ca_bundle,
            mask=mask,
        )
        self._servers: dict[str, McpServer] = {}
        self._tools = LiveTools()
        self._listeners: list[OnChange] = []
        self._changing = asyncio.Lock()
        self._is_stopped = False

    def tools(self) -> Mapping[str, Tool]:
        """Return the tools by name; the mapping is live."""
        return self._tools

    def running(self, name: str) -> McpServer | None:
        """Return a server by its name, connected or not; None if it is not used."""
        return self._servers.get(name)

    def all_running(self) -> tuple[McpServer, ...]:
        """Return the servers that are used, in the order of the configuration."""
        return tuple(self._servers[name] for name in self.settings.servers if name in self._servers)

    def on_change(self, callback: OnChange) -> None:
        """Register a callback for tools that come, go or change."""
        self._listeners.append(callback)

    def status(self) -> McpReport:
        """Return the state of every server, in the order of the configuration."""
        return McpReport(servers=tuple(server.status() for server in self.all_running()))

    def use_grants(self, grants: GrantStore) -> None:
        """Keep the tokens of OAuth here; before the start."""
        self._around = msgspec.structs.replace(self._around, grants=grants)

    async def renew(self, name: str) -> None:
        """Connect a server anew, with the tokens that it has now."""
        async with self._changing:
            settings = self.settings.servers.get(name)
            if self._is_stopped or settings is None or name not in self._servers:
                return
            await self._drop([name])
            self._begin(name, settings)
            await self._settle([self._servers[name]], within_s=_RELOAD_WAIT_S)

    def prepare(self, settings: McpSettings) -> None:
        """Use other settings for the start."""
        self.settings = settings

    async def start(self) -> None:
        """Start every enabled server, and wait a little for the quick ones."""
        for name, server in self.settings.servers.items():
            if server.enabled:
                self._begin(name, server)
        await self._settle(self._servers.values(), within_s=self.settings.start_wait_s)

    async def reload(self, settings: McpSettings) -> Diff:
        """Apply other settings: only what differs is stopped and started; return what changed."""
        async with self._changing:
            if self._is_stopped:
                raise TryLater("no MCP server is started, because the gateway is stopping")
            old, before = self.settings, dict(self._tools.now)
            running = {n: s for n, s in old.servers.items() if n in self._servers}
            wanted = {n: s for n, s in settings.servers.items() if s.enabled}
            changed = [n for n in wanted if n in running and wanted[n] != running[n]]
            removed = [n for n in running if n not in wanted]
            added = [n for n in wanted if n not in running]
            self.settings = settings
            # Other platforms may use them, even if no tool changes.
            self._tools.version += 1
            self._around = msgspec.structs.replace(
                self._around, check_s=settings.check_s, ask_timeout_s=settings.ask_timeout_s
            )
            await self._drop([*removed, *changed])
            for name, server in wanted.items():
                if name in self._servers:
                    self._servers[name].look_again()
                else:
                    self._begin(name, server)
            fresh = [self._servers[name] for name in (*added, *changed)]
            await self._settle(fresh, within_s=min(settings.start_wait_s, _RELOAD_WAIT_S))
            return msgspec.structs.replace(
                tools_diff(before, self._tools.now),
                servers_added=tuple(added),
                servers_removed=tuple(removed),
                servers_changed=tuple(changed),
                problems=tuple(_problems(fresh)),
            )

    async def stop(self) -> None:
        """End every connection; from now on no server starts."""
        self._is_stopped = True
        async with self._changing:
            await self._drop(list(self._servers))

    def _begin(self, name: str, settings: McpServerSettings) -> None:
        server = McpServer(name, settings, around=self._around, on_change=self._collect)
        self._servers[name] = server
        server.start()

    async def _drop(self, names: Sequence[str]) -> None:
        dropped = [self._servers.pop(name) for name in names]
        self._collect()
        await asyncio.gather(*(server.stop() for server in dropped))

    async def _settle(self, servers: Iterable[McpServer], *, within_s: float) -> None:
        """Wait until each server has connected or failed once, or the time is over."""
        waiting = [asyncio.ensure_future(server.settled.wait()) for server in servers]
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=within_s)
            for task in late:
                task.cancel()

    def _collect(self) -> None:
        """Combine the tools of all servers; the first of two with the same name keeps it."""
        before, now = self._tools.now, dict[str, McpTool]()
        for name in self.settings.servers:
            server = self._servers.get(name)
            for offer in () if server is None else server.catalogue.offers:
                assert server is not None
                known = before.get(offer.spec.name)
                is_same = known is not None and known.is_of(server) and known.offer == offer
                now.setdefault(
                    offer.spec.name, known if known and is_same else McpTool(server, offer)
                )
        self._tools.now = now
        self._tools.version += 1
        diff = tools_diff(before, now)
        if not diff.is_empty:
            _log.info(
                "mcp_tools_changed",
                added=len(diff.tools_added),
                removed=len(diff.tools_removed),
                changed=len(diff.tools_changed),
            )
            for listener in self._listeners:
                listener(diff)


def tools_diff(before: Mapping[str, McpTool], now: Mapping[str, McpTool]) -> Diff:
    """Return which tools came, went or have a different description."""
    both = before.keys() & now.keys()
    return Diff(
        tools_added=tuple(sorted(now.keys() - before.keys())),
        tools_removed=tuple(sorted(before.keys() - now.keys())),
        tools_changed=tuple(sorted(name for name in both if before[name].offer != now[name].offer)),
    )


def _problems(servers: Iterable[McpServer]) -> Iterator[str]:
    for server in servers:
        status = server.status()
        if status.state != "connected":
            yield f"{status.name}: {status.problem or 'still connecting'}"
