"""`hermes status`: the state of the gateway, asked from it or, if none runs, read from files."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hermes import __version__
from hermes.cli.environment import home_for, settings_for
from hermes.cli.failure import NOT_RUNNING
from hermes.cli.gateway_client import client_for
from hermes.cli.kill_switch import switch_text
from hermes.cli.operator_calls import ask_gateway
from hermes.cli.terminal import AsJson, Home, clean, examples, print_report
from hermes.control.order import NoFields
from hermes.control.orders import GATEWAY_STATUS
from hermes.control.status import (
    ChannelStatus,
    MemoryStatus,
    ModelSwapStatus,
    ProviderStatus,
    StatusReport,
    StoreStatus,
    offline_status,
)
from hermes.control.why_answer import clock_time, span
from hermes.control.why_delivery import breaker_text
from hermes.lazy import lazy
from hermes.ops.instance import RunningGateway, find_running
from hermes.ops.runtime import read_runtime

if TYPE_CHECKING:
    from hermes.cli.offline import open_store
else:
    open_store = lazy("hermes.cli.offline:open_store")

EPILOG = examples(
    "hermes status",
    "hermes status --json",
    "hermes status || hermes up   (exit code 3: not running)",
)
_TOLD_ALREADY = frozenset({"writable"})
# Messages that have been answered are not counted.
_EMPTY = {"messages": "none unfinished"}


def command(home: Home = None, as_json: AsJson = False) -> None:
    """Show the state of the gateway; exit code 3 if none runs."""
    report = _report(home)
    print_report(report, _print, as_json=as_json)
    if not report.running:
        raise typer.Exit(NOT_RUNNING)


def _report(home: Home) -> StatusReport:
    folder = home_for(home)
    running = find_running(folder)
    if running is not None and running.address is None:
        # It is starting, or it lives inside a `hermes chat`, which listens nowhere.
        return _without_address(running, folder)
    if running is not None:
        return ask_gateway(client_for(running), GATEWAY_STATUS, NoFields())
    if not folder.exists():
        return asyncio.run(offline_status(None, home=str(folder), version=__version__))
    with open_store(settings_for(home)) as store:
        last = read_runtime(folder)
        return asyncio.run(offline_status(store, home=str(folder), version=__version__, last=last))


def _without_address(running: RunningGateway, folder: Path) -> StatusReport:
    told = read_runtime(folder)
    pid = running.identity.pid
    is_its_own = told is not None and told.pid == pid
    return StatusReport(
        running=True,
        state=told.state if told is not None and is_its_own else "starting",
        home=str(folder),
        version=__version__,
        pid=pid,
        channels=told.channels if told is not None and is_its_own else (),
    )


def _print(report: StatusReport, out: Console) -> None:
    colour = {"connected": "green", "fatal": "red", "stopped": "yellow"}.get(report.state, "cyan")
    words = {"connected": "running", "stopped": "not running"}.get(report.state, report.state)
    out.print(Text.assemble("Hermes ", f"{report.version} is ", (words, f"bold {colour}")))
    rows: list[tuple[str, str]] = [("home", report.home)]
    if report.running:
        rows.insert(0, ("address", report.address or "not open yet"))
        rows.append(("process", f"pid {report.pid}, up {span(report.uptime_s or 0)}"))
        rows.append(("turns", f"{report.running_turns} running"))
    rows.append(("messages", f"{report.waiting_messages} waiting"))
    rows.append(("replies", f"{report.waiting_deliveries} waiting"))
    if report.kill_switch is not None:
        rows.append(("kill switch", f"{switch_text(report.kill_switch)}; NO MODEL IS CALLED"))
    if report.model_swap is not None:
        rows.append(("model swap", _swap(report.model_swap)))
    rows += _store_rows(report.store)
    if report.memory is not None:
        rows += _memory_rows(report.memory)
    rows += _life_rows(report)
    rows += [
        ("background", f"process {one.id} of session {one.session} runs")
        for one in report.processes
    ]
    rows += [("hook off", f"{one}; not called again until a restart") for one in report.hooks_off]
    _table(out, rows)
    _table(out, _provider_rows(report.providers), title="Models")
    channels = report.channels or (report.last.channels if report.last else ())
    _table(out, [(one.name, _channel(one)) for one in channels], title="Channels")
    if not report.running:
        out.print("Start it with `hermes up`.", style="dim")


def _swap(swap: ModelSwapStatus) -> str:
    if swap.problem is None:
        return f"{swap.model} is the default model, since {clock_time(swap.at)}"
    return f"{swap.model} IS NOT USED: {swap.problem}. `hermes models swap default` removes it"


def _channel(one: ChannelStatus) -> str:
    state: str = one.state
    if one.rests_until is not None:
        state = f"{state}, {breaker_text(one.rests_until, one.failures)}"
    return f"{state}: {one.note}" if one.note else state


def _life_rows(report: StatusReport) -> list[tuple[str, str]]:
    rows = [] if report.note is None else [("WARNING", report.note)]
    last = report.last
    if last is None or report.running:
        return rows
    code = "" if last.exit_code is None else f", exit code {last.exit_code}"
    return [*rows, ("last process", f"pid {last.pid}, {last.state} at {clock_time(last.at)}{code}")]


def _memory_rows(memory: MemoryStatus) -> list[tuple[str, str]]:
    parked = (
        f", {memory.parked_jobs} jobs stopped after repeated failures" if memory.parked_jobs else ""
    )
    learning = ("learning", memory.learning + parked)
    return [("recall", memory.recall), learning, ("dreams", memory.dreams)]


def _store_rows(store: StoreStatus | None) -> list[tuple[str, str]]:
    if store is None:
        return [("store", "nothing is stored yet")]
    state = "accepts messages" if store.writable else f"ACCEPTS NO MESSAGES: {store.problem}"
    return [("store", state), *_flat(store.details)]


def _flat(details: Mapping[str, object]) -> list[tuple[str, str]]:
    return [
        (f"  {name.replace('_', ' ')}", _cell(name, value))
        for name, value in details.items()
        if name not in _TOLD_ALREADY
    ]


def _cell(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(
            f"{key} {_cell(f'{name}_{key}', item)}" for key, item in value.items()
        ) or _EMPTY.get(name, "none")
    if isinstance(value, int) and "bytes" in name and not isinstance(value, bool):
        return _size(value)
    return str(value)


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def _provider_rows(providers: tuple[ProviderStatus, ...]) -> list[tuple[str, str]]:
    rows = []
    for one in providers:
        words = "available" if one.available else "not available"
        notes = [one.note] if one.note else []
        notes += ["a small demonstration model"] if one.demonstration else []
        rows.append((f"{one.name}:{one.model}", "; ".join([words, *notes])))
    return rows


def _table(out: Console, rows: Iterable[tuple[str, str]], *, title: str | None = None) -> None:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 2))
    for name, text in rows:
        table.add_row(Text(clean(name), style="dim"), Text(clean(text)))
    if table.row_count:
        if title:
            out.print(Text(title, style="bold"))
        out.print(table)
