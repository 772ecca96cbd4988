"""`python -m hermes.testing.slack` runs the stand-in as a program; see `stand_in_program`."""

import argparse
import asyncio

from hermes.testing.slack.platform import SlackStandIn
from hermes.testing.stand_in_program import serve


async def run(options: argparse.Namespace) -> None:
    """Run until the standard input closes."""
    slack = SlackStandIn(options.mode)
    if options.webhook_url:
        slack.point_at(options.webhook_url)

    async def start() -> None:
        await slack.start(options.port)

    await serve(slack, start=start)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="Run a stand-in of Slack on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--mode", choices=("socket", "http"), default="socket")
    parser.add_argument("--webhook-url", default="", help="the address for events in the mode http")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
