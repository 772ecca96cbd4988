"""`python -m hermes.testing.matrix` runs the stand-in homeserver by itself; see `stand_in_program`."""

import asyncio

from hermes.testing.matrix.people import MatrixStandIn
from hermes.testing.stand_in_program import serve


async def main() -> None:
    """Run until the standard input closes."""
    await serve(MatrixStandIn())


if __name__ == "__main__":
    asyncio.run(main())
