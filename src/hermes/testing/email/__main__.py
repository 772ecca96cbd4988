"""`python -m hermes.testing.email` runs the stand-in as a program; see `stand_in_program`."""

import argparse
import asyncio

from hermes.testing.email.server import EmailStandIn
from hermes.testing.stand_in_program import serve


async def run(options: argparse.Namespace) -> None:
    """Run until the standard input closes."""
    state = EmailStandIn(can_idle=not options.no_idle, files_sent=options.files_sent)
    # A mailbox has only one recipient: every mail to it is addressed to the bot.
    await serve(state, has_groups=False)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="Run a stand-in mail server on loopback.")
    parser.add_argument("--no-idle", action="store_true", help="offer no IDLE")
    parser.add_argument("--files-sent", action="store_true", help="file what the bot sends")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
