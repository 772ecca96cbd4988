"""`hermes token [create|list|revoke]`: API tokens and their roles; a secret is shown once."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from hermes.cli.environment import home_for
from hermes.cli.gateway_client import connect
from hermes.cli.operator_calls import ask_gateway, call, operator_name
from hermes.cli.terminal import (
    AsJson,
    Home,
    examples,
    make_table,
    print_done,
    print_json,
    print_report,
    texts,
)
from hermes.control.key_terms import lifetime
from hermes.control.order import NoFields
from hermes.control.orders import TOKENS_CREATE, TOKENS_LIST, TOKENS_REVOKE
from hermes.control.tokens import (
    EndedToken,
    NewToken,
    TokenEnd,
    TokenSecret,
    TokensReport,
)
from hermes.control.why_answer import clock_time
from hermes.errors import BadRequest, NotFound
from hermes.ports.access import ROLES

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


def command(context: typer.Context, home: Home = None, as_json: AsJson = False) -> None:
    """Print a new API token of the owner, shown only once; older tokens stay valid."""
    if context.invoked_subcommand is not None:
        return
    new = NewToken(role="owner", by=operator_name())
    made = ask_gateway(connect(home_for(home)), TOKENS_CREATE, new)
    if as_json:
        print_json(TokenSecret(token=made.secret))
    else:
        print(made.secret)


def create(
    *,
    role: Annotated[str, typer.Option(help="The role: viewer, operator or owner.")],
    name: Annotated[str, typer.Option(help="A label for your own lists.")] = "",
    expires: Annotated[
        str | None,
        typer.Option(help="How long it is valid, such as 12h, 30d or 4w.", show_default=False),
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Make a token with a role; its secret is printed only once."""
    known = next((one for one in ROLES if one == role), None)
    if known is None:
        raise BadRequest(f"{role!r} is not a role: expected one of {', '.join(ROLES)}.")
    new = NewToken(
        role=known,
        name=name,
        lifetime_s=None if expires is None else lifetime(expires),
        by=operator_name(),
    )
    made = call(home, TOKENS_CREATE, new)
    if as_json:
        print_json(made)
    else:
        print(made.secret)


def list_all(home: Home = None, as_json: AsJson = False) -> None:
    """List the tokens and the signed-in browsers, without secrets."""
    report = call(home, TOKENS_LIST, NoFields(), empty=TokensReport)
    print_report(report, _print, as_json=as_json)


def revoke(
    token: Annotated[
        str,
        typer.Argument(
            metavar="[TOKEN]",
            help="The id of a token or a browser session, or its beginning.",
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
    names = ("id", "kind", "name", "role", "state", "made", "valid until", "last used", "made by")
    table = make_table(*names)
    for token in report.tokens:
        until = "forever" if token.expires_at is None else clock_time(token.expires_at)
        made = clock_time(token.created_at)
        used, by = "not recorded", token.made_by
        _add(table, token.id, "token", token.name, token.role, token.state, made, until, used, by)
    for one in report.sessions:
        until = "" if one.expires_at is None else clock_time(one.expires_at)
        seen = "never" if one.seen_at is None else clock_time(one.seen_at)
        made, by = clock_time(one.created_at), one.made_by or "hermes link"
        name = _browser(one.browser)
        _add(table, one.id, "browser", name, one.role, one.state, made, until, seen, by)
    out.print(table)


def _browser(agent: str) -> str:
    """Return a short name for a browser, such as "Firefox on Linux"."""
    browser, system = _first(_BROWSERS, agent), _first(_SYSTEMS, agent)
    return f"{browser} on {system}" if browser and system else agent[:_NAME_CHARS]


def _first(names: tuple[tuple[tuple[str, ...], str], ...], agent: str) -> str | None:
    return next((name for marks, name in names if any(mark in agent for mark in marks)), None)


def _add(table: Table, *cells: str) -> None:
    table.add_row(*texts(cells))
