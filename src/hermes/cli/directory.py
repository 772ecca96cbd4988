"""`hermes channels directory`: the chats that have a known name, which `hermes send` accepts."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from hermes.cli.operator_calls import call
from hermes.cli.terminal import AsJson, Home, examples, print_report, texts
from hermes.control.orders import CHANNELS_DIRECTORY
from hermes.control.sends import DirectoryAsk, DirectoryReport

EPILOG = examples("hermes channels directory", "hermes channels directory --platform slack --json")


def command(
    *,
    platform: Annotated[
        str, typer.Option("--platform", help="Only chats of this platform.", show_default=False)
    ] = "",
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List the chats that have a known name; `hermes send` accepts these names."""
    ask = DirectoryAsk(platform=platform)
    report = call(home, CHANNELS_DIRECTORY, ask, empty=DirectoryReport)
    print_report(report, _print, as_json=as_json)


def _print(report: DirectoryReport, out: Console) -> None:
    if not report.chats:
        out.print("No chat names are known yet: Hermes asks the platforms every five minutes.")
        return
    table = Table("platform", "name", "guild", "kind", "id", box=None, pad_edge=False)
    for one in report.chats:
        cells = (one.platform, one.name, one.guild or "", one.kind, one.chat_id)
        table.add_row(*texts(cells))
    out.print(table)
