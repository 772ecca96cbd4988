"""The root of the settings: one frozen value that holds everything an operator can choose.

Part of config; `load` makes it from files and variables, everyone else receives it. It must not
know where a value came from.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from pydantic import BaseModel, Field

from hermes.config.adapter_settings import AdapterSettings
from hermes.config.chat_settings import (
    AccessSettings,
    AgentRuleSettings,
    ApprovalSettings,
    BusySettings,
    ChannelSettings,
    CronSettings,
    DisplaySettings,
    InboxSettings,
    LaneSettings,
    MediaSettings,
    OutboxSettings,
    PlatformSettings,
    SessionSettings,
    SkillSettings,
    StreamingSettings,
)
from hermes.config.entries import agent_tables, provider_tables
from hermes.config.model_settings import (
    A2aSettings,
    AgentSettings,
    BudgetSettings,
    CacheSettings,
    CallSettings,
    CompactionSettings,
    CreditSettings,
    ModelSettings,
    ProviderSettings,
    RoutingSettings,
    TurnSettings,
    WorkspaceSettings,
)
from hermes.config.presets import PresetName
from hermes.config.section import Name, Named, ProxyUrl, Section, Word, no_entries
from hermes.config.server_settings import (
    AlertSettings,
    AuditSettings,
    DebugSettings,
    HookSettings,
    LogSettings,
    MetricsSettings,
    NetSettings,
    OtelSettings,
    ProcessSettings,
    SearchSettings,
    ServerSettings,
    StoreSettings,
)
from hermes.config.terminal_settings import TerminalSettings, WebSearchSettings
from hermes.config.tool_settings import McpSettings, MemorySettings, ToolSettings, VisionSettings
from hermes.message.channel_name import channel_name
from hermes.texts.languages import LanguageCode

Key = tuple[str, ...]


class Settings(Section):
    """Everything an operator can choose, checked and frozen."""

    server: ServerSettings = Field(default_factory=ServerSettings)
    store: StoreSettings = Field(default_factory=StoreSettings)
    inbox: InboxSettings = Field(default_factory=InboxSettings)
    lanes: LaneSettings = Field(default_factory=LaneSettings)
    sessions: SessionSettings = Field(default_factory=SessionSettings)
    turns: TurnSettings = Field(default_factory=TurnSettings)
    busy: BusySettings = Field(default_factory=BusySettings)
    access: AccessSettings = Field(default_factory=AccessSettings)
    credits: CreditSettings = Field(default_factory=CreditSettings)
    budgets: BudgetSettings = Field(default_factory=BudgetSettings)
    cache: CacheSettings = Field(default_factory=CacheSettings)
    v1: CallSettings = Field(default_factory=CallSettings)
    outbox: OutboxSettings = Field(default_factory=OutboxSettings)
    streaming: StreamingSettings = Field(default_factory=StreamingSettings)
    display: DisplaySettings = Field(default_factory=DisplaySettings)
    approvals: ApprovalSettings = Field(default_factory=ApprovalSettings)
    cron: CronSettings = Field(default_factory=CronSettings)
    memory: MemorySettings = Field(default_factory=MemorySettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    models: ModelSettings = Field(default_factory=ModelSettings)
    compaction: CompactionSettings = Field(default_factory=CompactionSettings)
    routing: RoutingSettings = Field(default_factory=RoutingSettings)
    tools: ToolSettings = Field(default_factory=ToolSettings)
    skills: SkillSettings = Field(default_factory=SkillSettings)
    terminal: TerminalSettings = Field(default_factory=TerminalSettings)
    web_search: WebSearchSettings = Field(default_factory=WebSearchSettings)
    hooks: HookSettings = Field(default_factory=HookSettings)
    mcp: McpSettings = Field(default_factory=McpSettings)
    vision: VisionSettings = Field(default_factory=VisionSettings)
    media: MediaSettings = Field(default_factory=MediaSettings)
    providers: Named[ProviderSettings] = Field(
        default_factory=partial(provider_tables, {}), validate_default=True
    )
    """Where models run, by name."""
    agents: Named[AgentSettings] = Field(
        default_factory=partial(agent_tables, {}), validate_default=True
    )
    """The agents that answer, by name."""
    workspaces: WorkspaceSettings = Field(default_factory=WorkspaceSettings)
    a2a: A2aSettings = Field(default_factory=A2aSettings)
    adapters: Named[AdapterSettings] = Field(default_factory=no_entries)
    """Programs on this machine that answer the messages of agents, by name: `claude_local`,
    `codex_local`, or one of your own."""
    preset: PresetName | None = None
    """The defaults of one kind of business, over which your own settings count: `concierge` adds the
    facts and the tier of an agent that books places for people."""
    default_agent: Name = "main"
    """The agent that answers if no rule names another."""
    agent_rules: Named[AgentRuleSettings] = Field(default_factory=no_entries)
    """Which agent answers which messages; of several matching rules, the most specific applies."""
    platforms: Named[PlatformSettings] = Field(default_factory=no_entries)
    """The chat platforms, by name."""
    plugins: tuple[Word, ...] = ()
    """Plugins to load, each a module name or the path of a folder."""
    process: ProcessSettings = Field(default_factory=ProcessSettings)
    audit: AuditSettings = Field(default_factory=AuditSettings)
    logs: LogSettings = Field(default_factory=LogSettings)
    metrics: MetricsSettings = Field(default_factory=MetricsSettings)
    otel: OtelSettings = Field(default_factory=OtelSettings)
    alerts: AlertSettings = Field(default_factory=AlertSettings)
    time_zone: Word | None = None
    """The time zone for daily times, such as Europe/Paris; default: the system's."""
    language: LanguageCode = "en"
    """The language in which Hermes speaks with people who chose none and whose platform names none."""
    net: NetSettings = Field(default_factory=NetSettings)
    ipv4_only: bool = False
    """Whether outgoing connections use IPv4 only."""
    proxy: ProxyUrl | None = Field(default=None, repr=False)
    """The HTTP proxy for outgoing connections."""
    offline: bool = False
    """Whether only models on this machine may be used."""
    debug: DebugSettings = Field(default_factory=DebugSettings)

    @property
    def channels(self) -> Mapping[str, ChannelSettings]:
        """The bots on chat platforms by channel name, on or off.

        A platform for which nothing but accounts is configured has no bot of its own.
        """
        found: dict[str, ChannelSettings] = {}
        for platform, table in self.platforms.items():
            if table.enabled or table.extra or not table.accounts:
                found[platform] = table
            found |= {channel_name(platform, name): one for name, one in table.accounts.items()}
        return found


def leaves(value: object, key: Key = ()) -> Iterator[tuple[Key, object]]:
    """Iterate over the settings down to their single values, in order, each with its key."""
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from leaves(getattr(value, name), (*key, name))
    elif isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from leaves(item, (*key, name))
    else:
        yield key, value


def tier_names(settings: Settings) -> tuple[str, ...]:
    """Return the names of the tiers; if tiers choose the model, only those that have models."""
    routing, priced = settings.routing, settings.credits.tiers
    return tuple(dict.fromkeys((*routing.tiers, *(() if routing.by_tier else priced))))
