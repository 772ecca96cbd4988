"""The checks of `hermes doctor`: the files, the running gateway, the models, the MCP servers.

Imported by name only when used, because it imports the whole composition root.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

from hermes.app.doctor import DoctorContext, examine
from hermes.app.key_test import KeyTest, try_configured
from hermes.app.make_terminal import sandbox_problem
from hermes.app.platform_setup import PlatformProof, prove_all
from hermes.cli.environment import home_for, settings_for
from hermes.cli.mcp_alone import look
from hermes.cli.model_offers import ask_here, gateway_of
from hermes.cli.operator_calls import ask_gateway
from hermes.cli.progress import Show, progress_bar
from hermes.cli.terminal import clean, console, print_json
from hermes.config import LoadedConfig
from hermes.control.doctor import Check, DoctorReport, Status
from hermes.control.models import ModelLine, models_report
from hermes.control.order import NoFields
from hermes.control.orders import GATEWAY_STATUS, MCP_STATUS, MODELS_LIST
from hermes.control.status import ChannelStatus, StoreStatus
from hermes.ops.instance import find_running
from hermes.ports.clock import SystemClock
from hermes.tools.mcp.report import ServerStatus


def examine_and_show(home: Path | None, *, fix: bool, call: bool, as_json: bool) -> bool:
    """Run every check and print the results; return whether none failed."""
    with progress_bar("doctor") as show:
        report = examine_home(home, fix=fix, call=call, show=show)
    if as_json:
        print_json({"ok": report.is_well, "home": report.home, "checks": report.checks})
    else:
        show_report(report, console())
    return report.is_well


def examine_home(home: Path | None, *, fix: bool, call: bool, show: Show) -> DoctorReport:
    """Run every check of a home."""
    gateway = gateway_of(home)

    def models(loaded: LoadedConfig) -> tuple[ModelLine, ...]:
        if gateway is not None:
            return ask_gateway(gateway, MODELS_LIST, NoFields()).models
        return models_report(loaded.settings, ask_here(loaded)).models

    def servers(loaded: LoadedConfig) -> tuple[ServerStatus, ...]:
        if gateway is not None:
            return ask_gateway(gateway, MCP_STATUS, NoFields()).servers
        return look(loaded, None).servers

    def channels() -> tuple[ChannelStatus, ...]:
        return () if gateway is None else ask_gateway(gateway, GATEWAY_STATUS, NoFields()).channels

    def store() -> StoreStatus | None:
        return None if gateway is None else ask_gateway(gateway, GATEWAY_STATUS, NoFields()).store

    around = DoctorContext(
        home=home_for(home),
        now=SystemClock().now(),
        load=lambda: settings_for(home),
        running=find_running(home_for(home)),
        models=models,
        servers=servers,
        channels=channels,
        store=store,
        calls=_calls if call else None,
        proofs=_proofs if call else None,
        sandbox=_sandbox,
    )
    return examine(around, fix=fix, tell=show)


def _calls(loaded: LoadedConfig) -> tuple[KeyTest, ...]:
    return asyncio.run(_try(loaded))


def _proofs(loaded: LoadedConfig) -> tuple[PlatformProof, ...]:
    return asyncio.run(prove_all(loaded.settings, home=loaded.home))


def _sandbox(loaded: LoadedConfig) -> str | None:
    """Return why a command of a model cannot run in the sandbox; None if one ran, or none may."""
    terminal = loaded.settings.terminal
    if not terminal.enabled or terminal.sandbox == "unsafe":
        return None
    with TemporaryDirectory() as folder:
        return asyncio.run(sandbox_problem(loaded.settings, home=loaded.home, folder=Path(folder)))


async def _try(loaded: LoadedConfig) -> tuple[KeyTest, ...]:
    return await try_configured(loaded, SystemClock())


_MARKS: dict[Status, tuple[str, str]] = {
    "ok": ("ok  ", "green"),
    "warn": ("warn", "yellow"),
    "fail": ("FAIL", "bold red"),
}


def show_report(report: DoctorReport, out: Console) -> None:
    """Print every check, and how many need attention."""
    width = max(len(check.name) for check in report.checks)
    for check in report.checks:
        mark, style = _MARKS[check.status]
        line = Text.assemble((mark, style), f"  {check.name:<{width}}  {clean(check.what)}")
        out.print(line)
        for note in _notes(check):
            out.print(Text(" " * (width + 8) + clean(note), style="dim"))
    out.print(_summary(report))


def _notes(check: Check) -> list[str]:
    notes = list(check.details)
    if check.why:
        notes.append(f"why: {check.why}")
    if check.fix:
        notes.append(f"fix: {check.fix}")
    return notes


def _summary(report: DoctorReport) -> str:
    failed = sum(check.status == "fail" for check in report.checks)
    warned = sum(check.status == "warn" for check in report.checks)
    fixed = sum(check.fixed for check in report.checks)
    counts = [f"{failed} failed", f"{warned} need attention", f"{len(report.checks)} checks"]
    counts += [f"{fixed} fixed"] if fixed else []
    return ", ".join(counts) + "."
