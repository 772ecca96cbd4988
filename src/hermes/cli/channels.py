"""`hermes channels`, `list`, `pause` and `resume`: list platforms, pause one, resume it."""

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from hermes.cli.operator_calls import call
from hermes.cli.tables import Cell, Column, print_table
from hermes.cli.terminal import (
    AsJson,
    Home,
    Wide,
    clean,
    examples,
    print_done,
    print_report,
)
from hermes.cli.who import operator_name
from hermes.control.channels import ChannelLine, ChannelOrder, ChannelReport, ChannelsReport
from hermes.control.order import NoFields
from hermes.control.orders import CHANNELS_LIST, CHANNELS_PAUSE, CHANNELS_RESUME
from hermes.control.why_delivery import breaker_text

LIST_EPILOG = examples("hermes channels", "hermes channels list --json")
PAUSE_EPILOG = examples("hermes channels pause telegram")
RESUME_EPILOG = examples("hermes channels resume telegram")
_COLUMNS = (
    Column("platform", "id"),
    Column("state", "state"),
    Column("last in", "time", rank=1),
    Column("last out", "time", rank=2),
    Column("replies waiting", "number", rank=3),
    Column("paused since", "time", rank=4),
    Column("can", rank=5),
)

# A platform has half a minute to connect.
_CONNECT_S = 60.0
Platform = Annotated[
    str, typer.Argument(metavar="PLATFORM", help="The platform, such as telegram or rest.")
]


def list_all(home: Home = None, wide: Wide = False, as_json: AsJson = False) -> None:
    """List the platforms: their state, what each can do, and when the last messages passed."""
    report = call(home, CHANNELS_LIST, NoFields(), empty=ChannelsReport)
    print_report(report, _print, as_json=as_json, wide=wide)


def pause(platform: Platform, *, home: Home = None, as_json: AsJson = False) -> None:
    """Stop receiving and sending on a platform, across restarts too; no message is lost."""
    order = ChannelOrder(platform=platform, by=operator_name())
    report = call(home, CHANNELS_PAUSE, order)
    _tell(report, "is paused" if report.changed else "was already paused", as_json=as_json)


def resume(platform: Platform, *, home: Home = None, as_json: AsJson = False) -> None:
    """Receive and send on a platform again; reconnect it if it has stopped."""
    order = ChannelOrder(platform=platform, by=operator_name())
    report = call(home, CHANNELS_RESUME, order, timeout_s=_CONNECT_S)
    _tell(report, _resumed(report), as_json=as_json)


def _resumed(report: ChannelReport) -> str:
    if not report.reconnected:
        return "is resumed" if report.changed else "was not paused"
    channel = report.channel
    if channel.state == "connected":
        return "is connected again"
    return f"could not be connected ({channel.state}: {channel.note})"


def _tell(report: ChannelReport, did: str, *, as_json: bool) -> None:
    channel = report.channel
    text = f"{channel.platform} {did}; {channel.waiting} replies wait there."
    print_done(report, text, as_json=as_json)


def _cells(one: ChannelLine) -> tuple[Cell, ...]:
    seen = ("-" if at is None else at for at in (one.last_in, one.last_out))
    state = one.state
    if one.rests_until is not None:
        state = f"{state}, {breaker_text(one.rests_until, one.failures)}"
    return (one.platform, state, *seen, str(one.waiting), one.paused_at, ", ".join(one.can))


def _print(report: ChannelsReport, out: Console) -> None:
    if not report.channels:
        out.print("No gateway has run here yet. Set a platform up: hermes channels add telegram")
        return
    print_table(out, _COLUMNS, map(_cells, report.channels))
    for one in report.channels:
        if one.home is not None:
            out.print(clean(f"{one.platform}: its home channel is {one.home}"))
        if one.note is not None:
            out.print(Text(clean(f"{one.platform}: {one.note}"), style="yellow"))
