"""`python -m hermes.testing.matrix` runs the stand-in homeserver as a program; see
`stand_in_program`.
"""

import argparse
import asyncio

from hermes.testing.matrix.people import MatrixStandIn
from hermes.testing.stand_in_program import serve


async def run() -> None:
    """Run until the standard input closes."""
    await serve(MatrixStandIn())


def main() -> None:
    """Read the command line and run."""
    argparse.ArgumentParser(
        description="Run a stand-in homeserver of Matrix, on loopback."
    ).parse_args()
    asyncio.run(run())


if __name__ == "__main__":
    main()
