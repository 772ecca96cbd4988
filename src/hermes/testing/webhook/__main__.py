"""`python -m hermes.testing.webhook` runs the stand-in machine as a program; see
`stand_in_program`.
"""

import argparse
import asyncio

from hermes.testing.stand_in_program import serve
from hermes.testing.webhook.machine import MachineStandIn


def main() -> None:
    """Read the command line and run until the standard input closes."""
    argparse.ArgumentParser(
        description="Run a stand-in machine that posts webhooks, on loopback."
    ).parse_args()
    asyncio.run(serve(MachineStandIn(), has_groups=False))


if __name__ == "__main__":
    main()
