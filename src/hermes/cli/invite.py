"""`hermes invite PERSON` and `hermes invites list|withdraw`: people who sign in to the web chat."""

from typing import Annotated

import typer
from rich.console import Console

from hermes.cli.operator_calls import call, operator_name
from hermes.cli.tables import Cell, Column, print_table
from hermes.cli.terminal import (
    AsJson,
    Home,
    Wide,
    examples,
    print_done,
    print_json,
    print_report,
)
from hermes.control.invitations import (
    InvitationEnd,
    InvitationLine,
    InvitationsReport,
    NewInvitation,
)
from hermes.control.key_terms import lifetime
from hermes.control.order import NoFields
from hermes.control.orders import ACCESS_INVITATIONS, ACCESS_INVITE, ACCESS_WITHDRAW
from hermes.errors import NotFound
from hermes.ports.access import InvitedRole

EPILOG = examples(
    "hermes invite ann",
    "hermes invite bob --role operator --expires 1d",
    "hermes invite ann --json",
)
LIST_EPILOG = examples("hermes invites list", "hermes invites list --json")
WITHDRAW_EPILOG = examples("hermes invites withdraw t_3f9a0c12be45")
_COLUMNS = (
    Column("id", "id"),
    Column("person", rank=1),
    Column("role", rank=2),
    Column("made", "time", rank=4),
    Column("valid until", "time", rank=3),
)


def command(
    person: Annotated[
        str,
        typer.Argument(
            metavar="PERSON",
            help="The person's id in the web chat, such as ann.",
            show_default=False,
        ),
    ],
    *,
    role: Annotated[
        InvitedRole, typer.Option(help="What they may do beside talking to agents.")
    ] = "person",
    expires: Annotated[
        str | None,
        typer.Option(
            help="How long the invitation is valid, such as 12h or 30d; without it 7d.",
            show_default=False,
        ),
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Invite a person into the web chat; the link works once and is shown only now."""
    new = NewInvitation(
        name=person,
        role=role,
        lifetime_s=None if expires is None else lifetime(expires),
        by=operator_name(),
    )
    made = call(home, ACCESS_INVITE, new)
    if as_json:
        print_json(made)
    else:
        print(f"{made.link}\nor, on the sign-in page, the code {made.code}")


def list_all(home: Home = None, wide: Wide = False, as_json: AsJson = False) -> None:
    """List the invitations that nobody has used."""
    report = call(home, ACCESS_INVITATIONS, NoFields(), empty=InvitationsReport)
    print_report(report, _print, as_json=as_json, wide=wide)


def withdraw(
    invitation: Annotated[
        str,
        typer.Argument(
            metavar="INVITATION",
            help="The id of an invitation, its beginning or end.",
            show_default=False,
        ),
    ],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Withdraw an invitation that nobody has used."""
    end = InvitationEnd(id=invitation, by=operator_name())

    def nothing() -> InvitationLine:
        raise NotFound("There are no invitations: nothing is stored here yet.")

    ended = call(home, ACCESS_WITHDRAW, end, empty=nothing)
    print_done(ended, f"{ended.id} (web:{ended.user}) is withdrawn.", as_json=as_json)


def _print(report: InvitationsReport, out: Console) -> None:
    if not report.invitations:
        out.print("There are no open invitations.")
        return
    print_table(out, _COLUMNS, [_cells(one) for one in report.invitations])


def _cells(one: InvitationLine) -> tuple[Cell, ...]:
    until = "forever" if one.expires_at is None else one.expires_at
    return (one.id, f"web:{one.user}", one.role, one.created_at, until)
