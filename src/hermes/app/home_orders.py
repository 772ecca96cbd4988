"""The orders about the files of a running gateway: settings, log and checks."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hermes.app.gateway_parts import GatewayParts
from hermes.config import LoadedConfig, show
from hermes.config.findings import masked
from hermes.config.keys import dotted
from hermes.config.layers import DOTENV, ENVIRONMENT
from hermes.control.doctor import DoctorReport
from hermes.control.home import (
    HomeHandles,
    LogLine,
    LogsAsk,
    LogsReport,
    SettingLine,
    SettingOrder,
    SettingReport,
    SettingsAsk,
    SettingsReport,
    is_editable,
)
from hermes.control.reload import is_reloadable
from hermes.control.runtime import RuntimeHandles
from hermes.errors import BadRequest, Conflict, NotFound
from hermes.lazy import lazy
from hermes.ops.instance import find_running
from hermes.ops.log_reader import LineFilter, last_lines, mark_of

if TYPE_CHECKING:
    from hermes.app.doctor import DoctorContext, examine
    from hermes.config.change import (
        draft_with,
        draft_without,
        key_of_name,
        locked_files,
        read_value,
        value_in_file,
        write_draft,
    )
else:
    DoctorContext = lazy("hermes.app.doctor:DoctorContext")
    examine = lazy("hermes.app.doctor:examine")
    draft_with = lazy("hermes.config.change:draft_with")
    draft_without = lazy("hermes.config.change:draft_without")
    key_of_name = lazy("hermes.config.change:key_of_name")
    locked_files = lazy("hermes.config.change:locked_files")
    read_value = lazy("hermes.config.change:read_value")
    value_in_file = lazy("hermes.config.change:value_in_file")
    write_draft = lazy("hermes.config.change:write_draft")

_RELOAD: Final = "Reload the configuration to use it."
_RESTART: Final = "Restart the gateway to use it."


def make_home_handles(parts: GatewayParts, handles: RuntimeHandles) -> HomeHandles:
    """Return what the orders about the files of a gateway reach; one change and one check at a time."""
    context = parts.context
    busy = asyncio.Lock()

    async def settings(ask: SettingsAsk) -> SettingsReport:
        return await asyncio.to_thread(_settings, context.loaded, ask)

    async def change(order: SettingOrder) -> SettingReport:
        async with busy:
            return await asyncio.to_thread(_change, context.loaded, order)

    async def logs(ask: LogsAsk) -> LogsReport:
        return await asyncio.to_thread(_logs, context.loaded, ask)

    async def doctor() -> DoctorReport:
        async with busy:
            around = await _doctor_context(
                context.home, handles, context.read_again, now=context.clock.now()
            )
            return await asyncio.to_thread(examine, around, fix=False, tell=_tell_nobody)

    return HomeHandles(settings=settings, set=change, logs=logs, doctor=doctor)


def _settings(loaded: LoadedConfig, ask: SettingsAsk) -> SettingsReport:
    on = [name for name, one in loaded.settings.channels.items() if one.enabled]
    lines = [
        SettingLine(
            key=row.key,
            value=row.value,
            origin=row.origin or "",
            reloadable=is_reloadable(row.key, on),
            editable=is_editable(row.key),
        )
        for row in show(loaded, True)
        if ask.part in row.key
    ]
    return SettingsReport(
        settings=tuple(one for one in lines if not ask.changed or one.origin != "default")
    )


def _change(loaded: LoadedConfig, order: SettingOrder) -> SettingReport:
    key = key_of_name(order.key)
    name = dotted(key)
    if loaded.layers.get(name) in (ENVIRONMENT, DOTENV):
        raise Conflict(
            f"{name} is set by {loaded.origins[name]}, which counts more: change it there."
        )
    with locked_files(loaded.home):
        before = value_in_file(loaded.home, key)
        # Without variables: what they add is wrong or right before the change as after it.
        draft = (
            draft_without({}, loaded.home, key)
            if order.value is None
            else draft_with({}, loaded.home, key, value=read_value(key, order.value))
        )
        if draft.new_problems:
            raise BadRequest("; ".join(str(problem) for problem in draft.new_problems))
        if draft.is_changed:
            write_draft(draft)
    on = [name for name, one in loaded.settings.channels.items() if one.enabled]
    return SettingReport(
        key=name,
        value=masked(key, value_in_file(loaded.home, key)),
        before=masked(key, before),
        changed=draft.is_changed,
        note=_RELOAD if is_reloadable(name, on) else _RESTART,
    )


def _logs(loaded: LoadedConfig, ask: LogsAsk) -> LogsReport:
    file = loaded.settings.logs.file
    if file is None:
        raise NotFound("There is no log file: set logs.file in config.yaml.")
    path = loaded.home / file
    since = (
        None if ask.since is None else time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ask.since))
    )
    wanted = LineFilter(level=ask.level, message=ask.message or None, since=since)
    found = last_lines(path, wanted, limit=ask.limit, until=mark_of(path))
    lines = [
        LogLine(
            time=str(fields.pop("time", "")),
            level=str(fields.pop("level", "")),
            event=str(fields.pop("event", "")),
            fields=fields,
        )
        for fields in found
    ]
    return LogsReport(lines=tuple(reversed(lines)))


async def _doctor_context(
    home: Path, handles: RuntimeHandles, load: Callable[[], LoadedConfig], *, now: float
) -> "DoctorContext":
    """Return what the checks ask of this process, asked before, because they run beside its loop."""
    status = None if handles.status is None else await handles.status()
    models = () if handles.models is None else (await handles.models()).models
    servers = () if handles.mcp_status is None else (await handles.mcp_status()).servers
    return DoctorContext(
        home=home,
        now=now,
        load=load,
        running=find_running(home),
        models=lambda _loaded: models,
        servers=lambda _loaded: servers,
        channels=lambda: () if status is None else status.channels,
        store=lambda: None if status is None else status.store,
    )


def _tell_nobody(_done: int, _total: int, _what: str) -> None:
    """Show no progress: whoever asks over HTTP waits for the whole answer."""
