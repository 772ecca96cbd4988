"""Converts long texts in a thread, so that the event loop goes on with other chats meanwhile.

Whatever parses, splits, renders or measures a text of any length goes through `converted`. A short
text costs less than the thread would.
"""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

Result = TypeVar("Result")

# Parsing and rendering cost some microseconds for each character.
LOOP_CHARS: Final = 2048


async def converted(convert: Callable[[], Result], *, chars: int) -> Result:
    """Return what a conversion returns; that of a text with many characters runs in a thread.

    `convert` changes nothing that others use.
    """
    return convert() if chars <= LOOP_CHARS else await asyncio.to_thread(convert)
