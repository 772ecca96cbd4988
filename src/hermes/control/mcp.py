"""The operator's functions for the MCP servers of a running gateway."""

import asyncio
from collections.abc import Callable, Mapping

import msgspec
import structlog

from hermes.config import LoadedConfig, McpServerSettings
from hermes.errors import BadRequest, ConfigurationError, NotFound
from hermes.ports.request_numbers import Quantity
from hermes.tools.mcp.grants import Grant, GrantStore
from hermes.tools.mcp.report import Diff, McpReport
from hermes.tools.mcp.servers import McpServers

_log = structlog.get_logger(__name__)


class McpLogin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `hermes mcp login` has got for a server; `expires_in` are seconds.

    The tokens are for the server at `url`, and from `issuer`.
    """

    server: str
    url: str
    issuer: str
    client_id: str
    client_secret: str = ""
    access_token: str
    refresh_token: str = ""
    expires_in: Quantity | None = None
    scope: str = ""
    by: str = ""

    def __repr__(self) -> str:
        return f"McpLogin(server={self.server!r}, ****)"


class McpLogout(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The server whose tokens to forget."""

    server: str
    by: str = ""


class McpOperations:
    """Where operators ask after MCP servers; `reread` reads the configuration again.

    `secrets` are the stored ones by name; a `${NAME}` in the settings of a server is one of them before
    it is a variable.
    """

    def __init__(
        self, servers: McpServers, loaded: LoadedConfig, *, reread: Callable[[], LoadedConfig]
    ) -> None:
        self._servers = servers
        self._loaded = loaded
        self._reread = reread
        self.secrets: Mapping[str, str] = {}
        self._grants: GrantStore | None = None

    def prepare(self) -> None:
        """Give the secrets to the servers before their start."""
        self._servers.prepare(self._loaded.mcp_with(self.secrets))

    async def use_secrets(self) -> None:
        """Connect the servers anew whose secrets have changed, without reading the files again."""
        wanted = self._loaded.mcp_with(self.secrets)
        if wanted != self._servers.settings:
            await self._servers.reload(wanted)

    def keep_grants(self, grants: GrantStore) -> None:
        """Keep the tokens of OAuth here; before the start."""
        self._grants = grants
        self._servers.use_grants(grants)

    async def login(self, login: McpLogin) -> McpReport:
        """Keep the tokens of a login, and connect the server with them."""
        server = self._oauth(login.server)
        assert self._grants is not None
        lasts = login.expires_in
        grant = Grant(
            url=login.url,
            issuer=login.issuer,
            client_id=login.client_id,
            client_secret=login.client_secret,
            access_token=login.access_token,
            refresh_token=login.refresh_token,
            expires_at=None if lasts is None else self._grants.now() + lasts,
            scope=login.scope,
        )
        if not grant.is_for(url=server.url or "", issuer=server.oauth.issuer or ""):
            raise BadRequest(
                f"These tokens are for {login.url[:200]} and from {login.issuer[:200]}, and the gateway has "
                f"other settings of {login.server}: run `hermes mcp reload`, and log in again."
            )
        await self._grants.save(login.server, grant)
        _log.info("mcp_logged_in", server=login.server, by=login.by)
        await self._servers.renew(login.server)
        return self._only(login.server)

    async def logout(self, logout: McpLogout) -> McpReport:
        """Forget the tokens of a server; it needs a new login."""
        self._oauth(logout.server)
        assert self._grants is not None
        if not await self._grants.drop(logout.server):
            raise NotFound(f"There are no tokens of the MCP server {logout.server}.")
        _log.info("mcp_logged_out", server=logout.server, by=logout.by)
        await self._servers.renew(logout.server)
        return self._only(logout.server)

    def _oauth(self, name: str) -> McpServerSettings:
        """Return the settings of a server; raise `NotFound` if it uses no OAuth."""
        server = self._servers.settings.servers.get(name)
        if server is None or server.oauth.issuer is None:
            raise NotFound(
                f"No MCP server {name[:80]!r} with `oauth` is configured: `hermes mcp list` shows the "
                "servers; after a change run `hermes mcp reload`."
            )
        return server

    def _only(self, name: str) -> McpReport:
        report = self._servers.status()
        return McpReport(servers=tuple(one for one in report.servers if one.name == name))

    async def status(self) -> McpReport:
        """Return the state of every server."""
        return self._servers.status()

    async def reload(self) -> Diff:
        """Read the configuration again and change to its servers; return what changed."""
        try:
            loaded = await asyncio.to_thread(self._reread)
        except ConfigurationError as error:
            raise BadRequest(
                f"Nothing was changed, because the configuration is wrong: {error}"
            ) from error
        diff = await self._servers.reload(loaded.mcp_with(self.secrets))
        self._loaded = loaded
        _log.info(
            "mcp_reloaded",
            added=diff.servers_added,
            removed=diff.servers_removed,
            changed=diff.servers_changed,
        )
        return diff
