"""`hermes pair list|approve|deny|revoke`: lets unknown people in by their pairing code."""

from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from hermes.cli.operator_calls import call, operator_name
from hermes.cli.tables import Column, print_table
from hermes.cli.terminal import (
    AsJson,
    ChannelName,
    Home,
    Wide,
    clean,
    examples,
    print_done,
    print_report,
)
from hermes.control.order import NoFields
from hermes.control.orders import PAIRING_APPROVE, PAIRING_DENY, PAIRING_LIST, PAIRING_REVOKE
from hermes.control.pairing import PairApproval, PairingReport, PairOrder
from hermes.control.why_answer import clock_time
from hermes.errors import NotFound

LIST_EPILOG = examples("hermes pair list", "hermes pair list --json")
APPROVE_EPILOG = examples("hermes pair approve telegram K7QM-4XWP")
DENY_EPILOG = examples("hermes pair deny telegram:4711")
REVOKE_EPILOG = examples("hermes pair revoke telegram:4711")
_COLUMNS = (
    Column("state", "state"),
    Column("channel", "id"),
    Column("name", rank=1),
    Column("code valid until, or let in", "time", rank=2),
)


def list_all(home: Home = None, wide: Wide = False, as_json: AsJson = False) -> None:
    """List who waits for approval, who was approved by code, and which platforms are locked."""
    report = _look(home)
    print_report(report, _print, as_json=as_json, wide=wide)


def approve(
    platform: Annotated[
        str,
        typer.Argument(
            metavar="PLATFORM", help="The platform where the person wrote, such as telegram."
        ),
    ],
    code: Annotated[
        str, typer.Argument(metavar="CODE", help="The code that the person received and shows you.")
    ],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Let in the person with this code; 5 wrong codes lock the platform's approvals for an hour."""
    _check_home(home)
    order = PairApproval(platform=platform, code=code, by=operator_name())
    report = call(home, PAIRING_APPROVE, order)
    told = " They were notified in the chat where they asked." if report.is_told else ""
    text = f"{report.platform}:{report.user_id} ({report.person_id}) is let in.{told}"
    print_done(report, text, as_json=as_json)


def deny(channel: ChannelName, *, home: Home = None, as_json: AsJson = False) -> None:
    """Cancel the code of a person who waits; they can ask again after ten minutes."""
    _check_home(home)
    order = PairOrder(user=channel, by=operator_name())
    report = call(home, PAIRING_DENY, order)
    text = f"The code of {channel} is cancelled. `hermes users block` blocks the person."
    print_done(report, text, as_json=as_json)


def revoke(channel: ChannelName, *, home: Home = None, as_json: AsJson = False) -> None:
    """Stop letting a channel in, however it was let in."""
    _check_home(home)
    order = PairOrder(user=channel, by=operator_name())
    report = call(home, PAIRING_REVOKE, order)
    did = "is no longer let in" if report.changed else "was not let in"
    print_done(report, f"{channel} ({report.person_id}) {did}.", as_json=as_json)


def _look(home: Home, empty: Callable[[], PairingReport] = PairingReport) -> PairingReport:
    return call(home, PAIRING_LIST, NoFields(), empty=empty)


def _check_home(home: Home) -> None:
    """Refuse an order if nobody has ever written, because it must not create a home."""

    def nobody() -> PairingReport:
        raise NotFound("Nobody has written to this gateway yet, so nobody waits for approval.")

    _look(home, nobody)


def _print(report: PairingReport, out: Console) -> None:
    for platform, until in report.locked.items():
        out.print(Text(clean(f"Approvals for {platform} are locked until {clock_time(until)}.")))
    if not report.waiting:
        out.print("Nobody waits for approval.")
    rows = [
        ("waiting", f"{one.platform}:{one.user_id}", one.name or "", one.expires_at)
        for one in report.waiting
    ]
    rows += [
        ("paired", f"{one.platform}:{one.user_id}", one.name or "", one.activated_at)
        for one in report.paired
        if one.activated_at is not None
    ]
    if not rows:
        return
    print_table(out, _COLUMNS, rows)
