"""The parts of a gateway as frozen values, in the order in which `build.py` builds them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hermes.adapters.a2a.adapter import A2aAdapter
from hermes.agents.secret_mask import SecretMask
from hermes.agents.secrets import Secrets
from hermes.app.connect import Connections
from hermes.app.core import Core
from hermes.app.make_hooks import GatewayHooks
from hermes.app.make_models import ModelLayer
from hermes.app.make_observability import Observability
from hermes.app.make_programs import Programs
from hermes.app.run_state import RunState
from hermes.calls.agent_providers import AgentProviders
from hermes.config import LoadedConfig, Settings
from hermes.control.audited import AuditedActions
from hermes.control.gateway_reports import GatewayReports, ModelReports
from hermes.control.mcp import McpOperations
from hermes.control.reload import ReloadOperations
from hermes.control.sign_in import SignInOperations
from hermes.http.same_origin import Origins
from hermes.media.cache import MediaCache
from hermes.memory.fact_vectors import TextEmbedder
from hermes.net.client import HttpClient
from hermes.ops.alerts import AlertCases, Alerts
from hermes.ops.logs import Level, Logs, secrets_in
from hermes.pipeline.services import Restart, cannot_restart
from hermes.pipeline.watch import WatchHub
from hermes.plugins.registry import Registry
from hermes.ports.channel import Channel, WebhookChannel
from hermes.ports.clock import Clock
from hermes.ports.store import Store
from hermes.ports.tool import Tool
from hermes.server.auth import StoredAccess
from hermes.server.listen import Listener
from hermes.skills.book import SkillBook
from hermes.store.search.search import SqliteSearch
from hermes.tools.mcp.servers import McpServers
from hermes.tools.programs.run_keys import RunKeys


class GatewayContext(msgspec.Struct, frozen=True, kw_only=True):
    """The context of a gateway: its configuration, its process, and the clock.

    Without `listen` it serves no HTTP. `hide` receives the secrets of a changed configuration.
    `stored_mask` masks the secrets that operators have stored. `tools` are those of the program around it.
    """

    loaded: LoadedConfig
    clock: Clock
    run_state: RunState
    local_token: str
    listen: bool = True
    hide: Callable[..., None] | None = None
    logs: Logs | None = None
    cases: AlertCases = msgspec.field(default_factory=AlertCases)
    restart: Restart = cannot_restart
    stored_mask: SecretMask = msgspec.field(default_factory=SecretMask)
    # The keys of programs that answer agents, and run now.
    run_keys: RunKeys = msgspec.field(default_factory=RunKeys)
    tools: tuple[Tool, ...] = ()

    @property
    def settings(self) -> Settings:
        """The settings at the start."""
        return self.loaded.settings

    @property
    def home(self) -> Path:
        """The folder of the gateway's files."""
        return self.loaded.home

    @property
    def mask(self) -> Callable[[str], str]:
        """Masks secrets in a text; the logs also mask those that are stored."""
        return self.stored_mask.text if self.logs is None else self.logs.mask

    def set_level(self, level: Level) -> None:
        """Set the lowest level that is logged."""
        if self.logs is not None:
            self.logs.set_level(level)

    def read_again(self) -> LoadedConfig:
        """Read the configuration again; its secrets stay out of the logs."""
        loaded = self.loaded.reread()
        if self.hide is not None:
            self.hide(*secrets_in(loaded.settings))
        return loaded


class Adapters(msgspec.Struct, frozen=True, kw_only=True):
    """What comes from plugins and the configuration: the client, providers, hooks and MCP
    servers.
    """

    watch: WatchHub
    client: HttpClient
    registry: Registry
    hooks: GatewayHooks
    skills: SkillBook
    providers: AgentProviders
    embedder: TextEmbedder | None
    mcp: McpServers
    mcp_operations: McpOperations


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """The open store, and the parts that need only it and the adapters."""

    store: Store
    secrets: Secrets
    remote_agents: A2aAdapter
    search: SqliteSearch | None
    observing: Observability
    audited: AuditedActions
    access: StoredAccess
    media_cache: MediaCache
    models: ModelLayer
    model_reports: ModelReports


class Channels(msgspec.Struct, frozen=True, kw_only=True):
    """The channels by name; `every` and `webhooks` change when one is replaced."""

    origins: Origins
    # Any: each of them also has routes of its own kind.
    own: dict[str, Any]
    pushed: Mapping[str, Channel]
    every: dict[str, Channel]
    webhooks: dict[str, WebhookChannel]


class GatewayParts(msgspec.Struct, frozen=True, kw_only=True):
    """All parts of a gateway, except its HTTP server."""

    context: GatewayContext
    adapters: Adapters
    storage: Storage
    channels: Channels
    core: Core
    programs: Programs
    alerts: Alerts
    connections: Connections
    reload: ReloadOperations
    reports: GatewayReports
    sign_in: SignInOperations
    address: str
    public_address: str
    listener: Listener | None
    started_at: float
    # The model that would answer at the start, and whether it is the demonstration model.
    answers: tuple[str, bool]
