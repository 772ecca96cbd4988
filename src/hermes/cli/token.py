"""`hermes token [create|list|revoke]`: API tokens and their roles; a secret is shown once."""

from typing import Annotated

import typer
from rich.console import Console

from hermes.cli.environment import home_for
from hermes.cli.gateway_client import connect
from hermes.cli.operator_calls import ask_gateway, call, operator_name
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
from hermes.control.key_terms import lifetime
from hermes.control.order import NoFields
from hermes.control.orders import TOKENS_CREATE, TOKENS_LIST, TOKENS_REVOKE
from hermes.control.tokens import (
    BrowserLine,
    EndedToken,
    NewToken,
    TokenEnd,
    TokenLine,
    TokenSecret,
    TokensReport,
)
from hermes.errors import BadRequest, NotFound
from hermes.ports.access import OperatorRole

EPILOG = examples("hermes token", "TOKEN=$(hermes token)", "hermes token --json")
CREATE_EPILOG = examples(
    "hermes token create --role operator --name ci --expires 30d",
    "hermes token create --role viewer --name dashboard --json",
)
LIST_EPILOG = examples("hermes token list", "hermes token list --json")
REVOKE_EPILOG = examples(
    "hermes token revoke t_3f9a0c12be45",
    "hermes token revoke --sessions",
    "hermes token revoke --all --json",
)

# In this order: most browsers also name the ones they descend from.
_BROWSERS = (
    (("Edg/", "Edge/", "EdgA/", "EdgiOS/"), "Edge"),
    (("OPR/",), "Opera"),
    (("Firefox/", "FxiOS/"), "Firefox"),
    (("Chrome/", "Chromium/", "CriOS/"), "Chrome"),
    (("Version/",), "Safari"),
)
_SYSTEMS = (
    (("iPhone",), "iPhone"),
    (("iPad",), "iPad"),
    (("Android",), "Android"),
    (("Windows",), "Windows"),
    (("CrOS",), "ChromeOS"),
    (("Mac OS X", "Macintosh"), "macOS"),
    (("Linux",), "Linux"),
)
_NAME_CHARS = 40
_COLUMNS = (
    Column("id", "id"),
    Column("kind", rank=3),
    Column("name", rank=1),
    Column("role", rank=2),
    Column("state", "state"),
    Column("made", "time", rank=6),
    Column("valid until", "time", rank=4),
    Column("last used", "time", rank=5),
    Column("made by", rank=7),
)


def command(home: Home = None, as_json: AsJson = False) -> None:
    """Print a new API token of the owner, shown only once; older tokens stay valid."""
    new = NewToken(role="owner", by=operator_name())
    made = ask_gateway(connect(home_for(home)), TOKENS_CREATE, new)
    if as_json:
        print_json(TokenSecret(token=made.secret))
    else:
        print(made.secret)


def create(
    *,
    role: Annotated[OperatorRole, typer.Option(help="What it may do.")],
    name: Annotated[str, typer.Option(help="A label for your own lists.")] = "",
    expires: Annotated[
        str | None,
        typer.Option(help="How long it is valid, such as 12h, 30d or 4w.", show_default=False),
    ] = None,
    delegate: Annotated[
        bool,
        typer.Option("--delegate", help="Let its messages be commands that give tasks to agents."),
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Make a token with a role; its secret is printed only once."""
    new = NewToken(
        role=role,
        name=name,
        lifetime_s=None if expires is None else lifetime(expires),
        may_delegate=delegate,
        by=operator_name(),
    )
    made = call(home, TOKENS_CREATE, new)
    if as_json:
        print_json(made)
    else:
        print(made.secret)


def list_all(home: Home = None, wide: Wide = False, as_json: AsJson = False) -> None:
    """List the tokens and the signed-in browsers, without secrets."""
    report = call(home, TOKENS_LIST, NoFields(), empty=TokensReport)
    print_report(report, _print, as_json=as_json, wide=wide)


def revoke(
    token: Annotated[
        str,
        typer.Argument(
            metavar="[TOKEN]",
            help="The id of a token or a browser session, its beginning or end.",
            show_default=False,
        ),
    ] = "",
    *,
    sessions: Annotated[
        bool, typer.Option("--sessions", help="Sign out every browser; tokens stay valid.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Revoke every token and sign out every browser.")
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Revoke a token and the browsers signed in with it, or one browser session, or all."""
    if bool(token) + sessions + everything != 1:
        raise BadRequest("Name one token or session by its id, or give --sessions or --all.")
    end = TokenEnd(id=token, sessions=sessions or everything, tokens=everything, by=operator_name())

    def nothing() -> EndedToken:
        raise NotFound("There are no tokens: nothing is stored here yet.")

    ended = call(home, TOKENS_REVOKE, end, empty=nothing)
    print_done(ended, _ended(ended), as_json=as_json)


def _ended(ended: EndedToken) -> str:
    """Print what was revoked, and which tokens made by it stay valid."""
    if not ended.kept:
        return _revoked(ended)
    kept = ", ".join(f"{one.id} ({one.name})" for one in ended.kept)
    return (
        f"{_revoked(ended)}\nThese tokens stay valid, although the token or session that made "
        f"them has ended: {kept}. Revoke each with `hermes token revoke ID`, or all tokens "
        "with `hermes token revoke --all`."
    )


def _revoked(ended: EndedToken) -> str:
    if ended.token is not None:
        return f"{ended.token.id} ({ended.token.name}) is revoked."
    if ended.session is not None:
        return f"{ended.session.id} ({_browser(ended.session.browser)}) is signed out."
    return f"Tokens revoked: {ended.tokens}. Browsers signed out: {ended.sessions}."


def _print(report: TokensReport, out: Console) -> None:
    if not report.tokens and not report.sessions:
        out.print("There are no tokens.")
        return
    print_table(
        out, _COLUMNS, [*map(_token_cells, report.tokens), *map(_browser_cells, report.sessions)]
    )


def _token_cells(token: TokenLine) -> tuple[Cell, ...]:
    until = "forever" if token.expires_at is None else token.expires_at
    made = token.created_at
    role = f"{token.role}, may delegate" if token.may_delegate else token.role
    what = (token.id, "token", token.name, role, token.state)
    return (*what, made, until, "not recorded", token.made_by)


def _browser_cells(one: BrowserLine) -> tuple[Cell, ...]:
    seen = "never" if one.seen_at is None else one.seen_at
    role = one.role if one.role == "owner" or not one.user else f"{one.role}, web:{one.user}"
    what = (one.id, "browser", _browser(one.browser), role, one.state)
    made_by = one.made_by or ("hermes link" if one.role == "owner" else "not recorded")
    return (*what, one.created_at, one.expires_at, seen, made_by)


def _browser(agent: str) -> str:
    """Return a short name for a browser, such as "Firefox on Linux"."""
    browser, system = _first(_BROWSERS, agent), _first(_SYSTEMS, agent)
    return f"{browser} on {system}" if browser and system else agent[:_NAME_CHARS]


def _first(names: tuple[tuple[tuple[str, ...], str], ...], agent: str) -> str | None:
    return next((name for marks, name in names if any(mark in agent for mark in marks)), None)
