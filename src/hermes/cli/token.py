"""`hermes token`: a new API token from the running gateway, shown once."""

import msgspec

from hermes.cli.gateway_client import connect
from hermes.cli.surroundings import home_for
from hermes.cli.terminal import AsJson, Home, examples, print_json

EPILOG = examples("hermes token", "TOKEN=$(hermes token)", "hermes token --json")


class _Token(msgspec.Struct, frozen=True):
    token: str


def command(home: Home = None, as_json: AsJson = False) -> None:
    """Print a new API token; it is shown only now, and older ones stay valid."""
    made = connect(home_for(home)).post("/control/token", _Token)
    if as_json:
        print_json(made)
    else:
        print(made.token)
