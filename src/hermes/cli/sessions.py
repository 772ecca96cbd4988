"""`hermes sessions list|end`: lists open sessions, and ends one."""

from typing import Annotated

import typer
from rich.console import Console

from hermes.cli.operator_calls import call
from hermes.cli.tables import Column, print_table
from hermes.cli.terminal import AsJson, Home, Wide, examples, print_done, print_report
from hermes.cli.who import operator_name
from hermes.control.orders import SESSIONS_END, SESSIONS_LIST
from hermes.control.sessions import (
    MOST_SESSIONS,
    SessionOrder,
    SessionReport,
    SessionsAsk,
    SessionsReport,
)
from hermes.errors import NotFound

LIST_EPILOG = examples("hermes sessions list", "hermes sessions list --platform telegram --json")
_COLUMNS = (
    Column("id", "id"),
    Column("platform", rank=2),
    Column("person", "id", rank=3),
    Column("messages", "number", rank=4),
    Column("last used", "time", rank=1),
    Column("state", "state"),
    Column("key", rank=5),
)
END_EPILOG = examples("hermes sessions end s_3f9a0c12be45")


def list_all(
    *,
    platform: Annotated[
        str, typer.Option(help="Only sessions of this platform.", show_default=False)
    ] = "",
    limit: Annotated[
        int, typer.Option(min=1, max=MOST_SESSIONS, help="At most this many sessions.")
    ] = 50,
    home: Home = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List open sessions, the most recently used first, without their messages."""
    ask = SessionsAsk(platform=platform, limit=limit)
    report = call(home, SESSIONS_LIST, ask, empty=SessionsReport)
    print_report(report, _print, as_json=as_json, wide=wide)


def end(
    session: Annotated[
        str,
        typer.Argument(
            metavar="SESSION", help="The id of a session, its beginning or end, or its whole key."
        ),
    ],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """End a session: its next message starts a new conversation; the old one is kept."""
    order = SessionOrder(session=session, by=operator_name())

    def nothing() -> SessionReport:
        raise NotFound("There is no session: nothing is stored here yet.")

    report = call(home, SESSIONS_END, order, empty=nothing)
    print_done(
        report,
        f"{report.session.id} has ended; its next message starts a new conversation.",
        as_json=as_json,
    )


def _print(report: SessionsReport, out: Console) -> None:
    if not report.sessions:
        out.print("No session is open.")
        return
    rows = (
        (
            one.id,
            one.platform,
            one.person_id,
            f"{one.messages:,}",
            one.used_at,
            "busy" if one.is_busy else "idle",
            one.key,
        )
        for one in report.sessions
    )
    print_table(out, _COLUMNS, rows)
