"""`python -m hermes.testing.irc` runs the stand-in as a program; see `stand_in_program`."""

import argparse
import asyncio

from hermes.testing.irc.server import IrcStandIn
from hermes.testing.stand_in_program import serve


async def run(options: argparse.Namespace) -> None:
    """Run until the standard input closes."""
    irc = IrcStandIn(is_plain=options.plain, is_limited=options.limits)

    async def start() -> None:
        await irc.start(options.port)

    await serve(irc, start=start)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="Run a stand-in IRC server on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--plain", action="store_true", help="no capabilities, like old servers")
    parser.add_argument("--limits", action="store_true", help="disconnect clients that flood")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
