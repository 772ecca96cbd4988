"""The one place where the torture tests wait: bounded polling of something in another process."""

import asyncio
import os
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

PAUSE_S = 0.005
# On a machine that does other work, every limit is this many times longer (`make torture PATIENCE=5`).
PATIENCE = float(os.environ.get("HERMES_TORTURE_PATIENCE", "1"))  # noqa: TID251  the run's own


async def until(
    look: Callable[[], Found | None],
    what: str,
    *,
    within_s: float = 60.0,
    every_s: float = PAUSE_S,
) -> Found:
    """Return the first thing that `look` finds; fail after `within_s`, naming what was missing."""
    try:
        async with asyncio.timeout(within_s * PATIENCE):
            while True:
                found = look()
                if found is not None and found is not False:
                    return found
                await pause(every_s)
    except TimeoutError:
        raise AssertionError(f"{what} did not happen within {within_s * PATIENCE:g} s") from None


async def pause(seconds: float = PAUSE_S) -> None:
    """Let another process do something before it is asked again."""
    await asyncio.sleep(seconds)
