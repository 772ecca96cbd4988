"""`python -m hermes.testing.webhook` runs the stand-in machine by itself; see `stand_in_program`."""

import asyncio

from hermes.testing.stand_in_program import serve
from hermes.testing.webhook.machine import MachineStandIn


async def main() -> None:
    """Run until the standard input closes."""
    await serve(MachineStandIn())


if __name__ == "__main__":
    asyncio.run(main())
