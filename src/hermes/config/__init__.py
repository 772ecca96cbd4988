"""Configuration: the only reader of environment and files; everyone else receives `Settings`.

`load` makes the one frozen value from all layers, `show` prints it with secrets masked, and
`ensure_home` prepares the folder it lives beside.
"""

from hermes.config.chat_settings import (
    AccessSettings,
    AgentRuleSettings,
    ApprovalSettings,
    BusySettings,
    CommandSettings,
    CronSettings,
    InboxSettings,
    LaneSettings,
    MediaSettings,
    OutboxSettings,
    PlatformAccess,
    PlatformSettings,
    ResetSettings,
    SessionCacheSettings,
    SessionSettings,
    StreamingSettings,
    conditions,
)
from hermes.config.entries import BusyPolicy
from hermes.config.findings import Finding
from hermes.config.home import config_folder, ensure_home, home_folder, read_or_create_secret_file
from hermes.config.load import LoadedConfig, SettingRow, load, show
from hermes.config.machine import system_zone
from hermes.config.model_settings import (
    AgentSettings,
    BreakerSettings,
    BudgetSettings,
    CacheSettings,
    CallSettings,
    CompactionSettings,
    CreditSettings,
    CreditTier,
    DeploymentSettings,
    ModelSettings,
    ProviderSettings,
    ServedModelSettings,
    TurnSettings,
)
from hermes.config.server_settings import (
    DebugSettings,
    LogSettings,
    NetSettings,
    ServerSettings,
    StoreSettings,
)
from hermes.config.settings import Settings
from hermes.config.tool_settings import (
    NO_MCP,
    GateSettings,
    IntentSettings,
    McpServerSettings,
    McpSettings,
    MemorySettings,
    ToolSettings,
)

__all__ = [
    "NO_MCP",
    "AccessSettings",
    "AgentRuleSettings",
    "AgentSettings",
    "ApprovalSettings",
    "BreakerSettings",
    "BudgetSettings",
    "BusyPolicy",
    "BusySettings",
    "CacheSettings",
    "CallSettings",
    "CommandSettings",
    "CompactionSettings",
    "CreditSettings",
    "CreditTier",
    "CronSettings",
    "DebugSettings",
    "DeploymentSettings",
    "Finding",
    "GateSettings",
    "InboxSettings",
    "IntentSettings",
    "LaneSettings",
    "LoadedConfig",
    "LogSettings",
    "McpServerSettings",
    "McpSettings",
    "MediaSettings",
    "MemorySettings",
    "ModelSettings",
    "NetSettings",
    "OutboxSettings",
    "PlatformAccess",
    "PlatformSettings",
    "ProviderSettings",
    "ResetSettings",
    "ServedModelSettings",
    "ServerSettings",
    "SessionCacheSettings",
    "SessionSettings",
    "SettingRow",
    "Settings",
    "StoreSettings",
    "StreamingSettings",
    "ToolSettings",
    "TurnSettings",
    "conditions",
    "config_folder",
    "ensure_home",
    "home_folder",
    "load",
    "read_or_create_secret_file",
    "show",
    "system_zone",
]
