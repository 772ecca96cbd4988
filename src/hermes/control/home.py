"""Orders about the files of a running gateway: its settings, its log and its checks.

What each does comes from `app`; the rules of who may change what over HTTP are here.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal

import msgspec
import structlog

from hermes.control.doctor import DoctorReport
from hermes.errors import BadRequest, Conflict
from hermes.ports.request_numbers import Instant, WholeNumber

_log = structlog.get_logger(__name__)
# Sections whose settings name no program, file, address or key: whoever may change them over HTTP still
# cannot run code on this machine, nor shorten what is on record of them. All others are changed with
# `hermes config set`.
EDITABLE: Final = frozenset(
    {
        "access",
        "budgets",
        "credits",
        "lanes",
        "logs.level",
        "memory",
        "models",
        "routing",
        "sessions",
        "time_zone",
    }
)
_MOST_LINES: Final = 5_000
_NOBODY: Final = (
    "No gateway runs; without one use `hermes config`, `hermes logs` and `hermes doctor`."
)
Level = Literal["debug", "info", "warning", "error", "critical"]


class SettingsAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which settings: those whose name contains `part`, and with `changed` only those that are set."""

    part: str = ""
    changed: bool = False


class SettingLine(msgspec.Struct, frozen=True, kw_only=True):
    """A setting as it holds now; secrets are masked.

    `origin` says where the value comes from. A setting that is not `reloadable` changes with a restart
    only; one that is `editable` can be changed over HTTP.
    """

    key: str
    # Any: a value of the configuration, as JSON.
    value: Any
    origin: str
    reloadable: bool
    editable: bool


class SettingsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Settings in the order of docs/settings.md."""

    settings: tuple[SettingLine, ...] = ()


class SettingOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A new value, as `hermes config set` takes it; without one the default holds again."""

    key: str
    value: str | None = None
    by: str = ""


class SettingReport(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that was written into config.yaml; `note` says what makes the gateway use it."""

    key: str
    # Any: values of the configuration, as JSON; secrets are masked.
    value: Any
    before: Any
    changed: bool
    note: str


class LogsAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which lines of the log: from a level on, about one message, since a time."""

    level: Level = "info"
    message: str = ""
    since: Instant | None = None
    limit: WholeNumber = 200


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line; `fields` are all that it says beside its time, level and event."""

    time: str
    level: str
    event: str
    # Any: log fields hold whatever was logged.
    fields: dict[str, Any] = {}


class LogsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of this process's log, the newest first."""

    lines: tuple[LogLine, ...] = ()


class HomeHandles(msgspec.Struct, frozen=True, kw_only=True):
    """What these orders reach in a running gateway."""

    settings: Callable[[SettingsAsk], Awaitable[SettingsReport]]
    set: Callable[[SettingOrder], Awaitable[SettingReport]]
    logs: Callable[[LogsAsk], Awaitable[LogsReport]]
    doctor: Callable[[], Awaitable[DoctorReport]]


class HomeOperations:
    """Where operators' orders about the files of the gateway arrive."""

    def __init__(self, handles: HomeHandles | None) -> None:
        self._handles = handles

    async def settings(self, ask: SettingsAsk) -> SettingsReport:
        """Return the settings that hold now."""
        return await self._home().settings(ask)

    async def set(self, order: SettingOrder) -> SettingReport:
        """Write a setting into config.yaml, once the whole configuration is right with it."""
        if not is_editable(order.key):
            raise BadRequest(
                f"{order.key[:80]!r} cannot be changed over HTTP: such a setting may name programs, files, "
                "addresses or keys. Use `hermes config set` on the machine itself."
            )
        report = await self._home().set(order)
        _log.warning("setting_changed", key=report.key, by=order.by)
        return report

    async def logs(self, ask: LogsAsk) -> LogsReport:
        """Return lines of the log."""
        if not 1 <= ask.limit <= _MOST_LINES:
            raise BadRequest(f"{ask.limit} lines: expected 1 to {_MOST_LINES:,}.")
        return await self._home().logs(ask)

    async def doctor(self) -> DoctorReport:
        """Run the checks of `hermes doctor`; nothing is repaired."""
        return await self._home().doctor()

    def _home(self) -> HomeHandles:
        if self._handles is None:
            raise Conflict(_NOBODY)
        return self._handles


def is_editable(key: str) -> bool:
    """Return whether a setting can be changed over HTTP."""
    return key in EDITABLE or key.partition(".")[0] in EDITABLE
