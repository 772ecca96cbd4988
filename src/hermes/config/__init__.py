"""Configuration: the only reader of environment and files; everyone else receives `Settings`.

`load` makes the one frozen value from all layers, `show` prints it with secrets masked, and
`ensure_home` prepares the folder it lives beside.
"""

from hermes.config.entries import AgentSettings, PlatformSettings, ProviderSettings
from hermes.config.findings import Finding
from hermes.config.home import ensure_home, home_folder, read_or_create_secret_file
from hermes.config.load import Loaded, load
from hermes.config.sections import (
    ApprovalSettings,
    BusyPolicy,
    BusySettings,
    CreditSettings,
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
from hermes.config.settings import Settings
from hermes.config.show import Row, show
from hermes.config.spending import BudgetSettings, CacheSettings, CallSettings

__all__ = [
    "AgentSettings",
    "ApprovalSettings",
    "BudgetSettings",
    "BusyPolicy",
    "BusySettings",
    "CacheSettings",
    "CallSettings",
    "CreditSettings",
    "DebugSettings",
    "Finding",
    "InboxSettings",
    "LaneSettings",
    "Loaded",
    "LogSettings",
    "ModelSettings",
    "OutboxSettings",
    "PlatformSettings",
    "ProviderSettings",
    "Row",
    "ServerSettings",
    "Settings",
    "StoreSettings",
    "StreamingSettings",
    "TurnSettings",
    "ensure_home",
    "home_folder",
    "load",
    "read_or_create_secret_file",
    "show",
]
