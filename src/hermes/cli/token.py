"""`hermes token [create|list|revoke]`: API tokens and their roles; a secret is shown once."""

from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hermes.cli.at_desk import at_desk
from hermes.cli.gateway_client import connect
from hermes.cli.surroundings import home_for
from hermes.cli.terminal import AsJson, Home, clean, console, examples, print_json
from hermes.cli.who import operator_name
from hermes.control.key_terms import lifetime
from hermes.control.tokens import EndedToken, MadeToken, NewToken, TokenEnd, TokensReport
from hermes.control.why_answer import clock_time
from hermes.errors import BadRequest, NotFound
from hermes.ports.access import ROLES

EPILOG = examples("hermes token", "TOKEN=$(hermes token)", "hermes token --json")
CREATE_EPILOG = examples(
    "hermes token create --role operator --name ci --expires 30d",
    "hermes token create --role viewer --name dashboard --json",
)
LIST_EPILOG = examples("hermes token list", "hermes token list --json")
REVOKE_EPILOG = examples("hermes token revoke t_3f9a0c12be45", "hermes token revoke t_3f9 --json")


class _Token(msgspec.Struct, frozen=True):
    token: str


def command(context: typer.Context, home: Home = None, as_json: AsJson = False) -> None:
    """Print a new API token of the owner; it is shown only now, and older ones stay valid."""
    if context.invoked_subcommand is not None:
        return
    new = NewToken(role="owner", by=operator_name())
    made = connect(home_for(home)).post("/control/tokens", MadeToken, body=new)
    if as_json:
        print_json(_Token(made.secret))
    else:
        print(made.secret)


def create(
    *,
    role: Annotated[str, typer.Option(help="What it may do: viewer, operator or owner.")],
    name: Annotated[str, typer.Option(help="What it is for, for your own lists.")] = "",
    expires: Annotated[
        str | None,
        typer.Option(help="How long it is good, such as 12h, 30d or 4w.", show_default=False),
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Make a token with a role; its secret is printed, and only now."""
    known = next((one for one in ROLES if one == role), None)
    if known is None:
        raise BadRequest(f"{role!r} is no role: expected one of {', '.join(ROLES)}.")
    new = NewToken(
        role=known,
        name=name,
        lifetime_s=None if expires is None else lifetime(expires),
        by=operator_name(),
    )
    made = at_desk(
        home,
        lambda gateway: gateway.post("/control/tokens", MadeToken, body=new),
        here=lambda desk: desk.tokens.create(new),
    )
    if as_json:
        print_json(made)
    else:
        print(made.secret)


def list_all(home: Home = None, as_json: AsJson = False) -> None:
    """List the tokens; secrets are shown nowhere."""
    report = at_desk(
        home,
        lambda gateway: gateway.get("/control/tokens", TokensReport),
        here=lambda desk: desk.tokens.list(),
        empty=TokensReport,
    )
    if as_json:
        print_json(report)
    else:
        _print(report, console())


def revoke(
    token: Annotated[
        str, typer.Argument(metavar="TOKEN", help="The id of a token, or a beginning of it.")
    ],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """End a token at once, and the browsers that were signed in with it."""
    end = TokenEnd(id=token, by=operator_name())

    def nothing() -> EndedToken:
        raise NotFound("There is no token: nothing is stored here yet.")

    ended = at_desk(
        home,
        lambda gateway: gateway.post("/control/tokens/revoke", EndedToken, body=end),
        here=lambda desk: desk.tokens.revoke(end),
        empty=nothing,
    )
    if as_json:
        print_json(ended)
    else:
        print(clean(f"{ended.token.id} ({ended.token.name}) is good for nothing any more."))


def _print(report: TokensReport, out: Console) -> None:
    if not report.tokens:
        out.print("There is no token.")
        return
    names = ("id", "name", "role", "state", "made", "good until")
    table = Table(*names, box=None, pad_edge=False, header_style="dim")
    for one in report.tokens:
        until = "it is revoked" if one.expires_at is None else clock_time(one.expires_at)
        cells = (one.id, one.name, one.role, one.state, clock_time(one.created_at), until)
        table.add_row(*(Text(clean(cell)) for cell in cells))
    out.print(table)
