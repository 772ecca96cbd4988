"""`hermes channels directory`: the chats that have a known name, which `hermes send` accepts."""

from typing import Annotated

import typer
from rich.console import Console

from hermes.cli.operator_calls import call
from hermes.cli.tables import Column, print_table
from hermes.cli.terminal import AsJson, Home, Wide, examples, print_report
from hermes.control.orders import CHANNELS_DIRECTORY
from hermes.control.sends import DirectoryAsk, DirectoryReport

EPILOG = examples("hermes channels directory", "hermes channels directory --platform slack --json")
_COLUMNS = (
    Column("platform", rank=1),
    Column("name"),
    Column("guild", rank=3),
    Column("kind", rank=2),
    Column("id", "id"),
)


def command(
    *,
    platform: Annotated[
        str, typer.Option("--platform", help="Only chats of this platform.", show_default=False)
    ] = "",
    home: Home = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List the chats that have a known name; `hermes send` accepts these names."""
    ask = DirectoryAsk(platform=platform)
    report = call(home, CHANNELS_DIRECTORY, ask, empty=DirectoryReport)
    print_report(report, _print, as_json=as_json, wide=wide)


def _print(report: DirectoryReport, out: Console) -> None:
    if not report.chats:
        out.print("No chat names are known yet: Hermes asks the platforms every five minutes.")
        return
    rows = ((one.platform, one.name, one.guild, one.kind, one.chat_id) for one in report.chats)
    print_table(out, _COLUMNS, rows)
