"""`hermes link`: a new one-time sign-in link for a browser, from the running gateway."""

from typing import Annotated

import typer

from hermes.cli.environment import home_for
from hermes.cli.gateway_client import connect
from hermes.cli.operator_calls import ask_gateway, operator_name
from hermes.cli.terminal import AsJson, Home, examples, print_json
from hermes.control.orders import ACCESS_LINK
from hermes.control.tokens import SignInLinkOrder

EPILOG = examples("hermes link", "open $(hermes link)", "hermes link --revoke-others")


def command(
    *,
    revoke_others: Annotated[
        bool, typer.Option("--revoke-others", help="Sign out every browser first.")
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Print a new sign-in link for the web chat; it works once."""
    order = SignInLinkOrder(revoke_others=revoke_others, by=operator_name())
    made = ask_gateway(connect(home_for(home)), ACCESS_LINK, order)
    if as_json:
        print_json(made)
    else:
        print(made.link)
