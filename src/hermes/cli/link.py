"""`hermes link`: a new one-time sign-in link for a browser, from the running gateway."""

from typing import Annotated

import msgspec
import typer

from hermes.cli.environment import home_for
from hermes.cli.gateway_client import connect
from hermes.cli.terminal import AsJson, Home, examples, print_json
from hermes.cli.who import operator_name
from hermes.control.tokens import LinkWish

EPILOG = examples("hermes link", "open $(hermes link)", "hermes link --revoke-others")


class _Link(msgspec.Struct, frozen=True):
    link: str


def command(
    *,
    revoke_others: Annotated[
        bool, typer.Option("--revoke-others", help="Sign out every browser first.")
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Print a new sign-in link for the web chat; it works once."""
    wish = LinkWish(revoke_others=revoke_others, by=operator_name())
    made = connect(home_for(home)).post("/control/link", _Link, body=wish)
    if as_json:
        print_json(made)
    else:
        print(made.link)
