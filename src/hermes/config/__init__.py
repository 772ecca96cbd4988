"""Configuration: the only reader of environment and files; everyone else receives `Settings`.

`load` makes the one frozen value from all layers, `show` prints it with secrets masked, and
`ensure_home` prepares the folder it lives beside.
"""

from hermes.config.access import (
    AccessSettings,
    AgentRuleSettings,
    CommandSettings,
    PlatformAccess,
    conditions,
)
from hermes.config.credits import CreditSettings, CreditTier
from hermes.config.cron import CronSettings, system_zone
from hermes.config.entries import AgentSettings, PlatformSettings, ProviderSettings
from hermes.config.findings import Finding
from hermes.config.home import config_folder, ensure_home, home_folder, read_or_create_secret_file
from hermes.config.load import Loaded, load
from hermes.config.mcp import NO_MCP, McpServerSettings, McpSettings
from hermes.config.media import MediaSettings
from hermes.config.memory import MemorySettings
from hermes.config.net import NetSettings
from hermes.config.sections import (
    ApprovalSettings,
    BusyPolicy,
    BusySettings,
    DebugSettings,
    InboxSettings,
    LaneSettings,
    LogSettings,
    ModelSettings,
    OutboxSettings,
    ServerSettings,
    StoreSettings,
    StreamingSettings,
    TurnSettings,
)
from hermes.config.sessions import ResetSettings, SessionCacheSettings, SessionSettings
from hermes.config.settings import Settings
from hermes.config.show import SettingRow, show
from hermes.config.spending import BudgetSettings, CacheSettings, CallSettings
from hermes.config.tools import GateSettings, IntentSettings, ToolSettings

__all__ = [
    "NO_MCP",
    "AccessSettings",
    "AgentRuleSettings",
    "AgentSettings",
    "ApprovalSettings",
    "BudgetSettings",
    "BusyPolicy",
    "BusySettings",
    "CacheSettings",
    "CallSettings",
    "CommandSettings",
    "CreditSettings",
    "CreditTier",
    "CronSettings",
    "DebugSettings",
    "Finding",
    "GateSettings",
    "InboxSettings",
    "IntentSettings",
    "LaneSettings",
    "Loaded",
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
