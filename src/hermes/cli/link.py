"""`hermes link`: a new one-time sign-in link for a browser, from the running gateway."""

import msgspec

from hermes.cli.gateway_client import connect
from hermes.cli.surroundings import home_for
from hermes.cli.terminal import AsJson, Home, examples, print_json

EPILOG = examples("hermes link", "open $(hermes link)", "hermes link --json")


class _Link(msgspec.Struct, frozen=True):
    link: str


def command(home: Home = None, as_json: AsJson = False) -> None:
    """Print a new sign-in link for the web chat; it works once."""
    made = connect(home_for(home)).post("/control/link", _Link)
    if as_json:
        print_json(made)
    else:
        print(made.link)
