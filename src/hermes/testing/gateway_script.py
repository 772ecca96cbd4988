"""A scripted model: what is said to it decides, piece by piece, what it answers.

Tests hold it in the middle of a reply and let it go on, so that none of them has to sleep. The
in-memory door plays it directly; a stand-in provider can play the same script.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Literal

import msgspec

from hermes.errors import HermesError


class Hold:
    """A place in a reply where the model waits until the test lets it go on."""

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._released = asyncio.Event()

    async def reached(self) -> None:
        """Return once the reply stands here."""
        await self._reached.wait()

    def release(self) -> None:
        """Let the reply go on, now and whenever it is played again."""
        self._released.set()

    async def stand(self) -> None:
        """Wait here."""
        self._reached.set()
        await self._released.wait()


class Note(msgspec.Struct, frozen=True):
    """Something that happens beside the text."""

    kind: Literal["status", "tool", "restart"]
    text: str = ""


class Ask(msgspec.Struct, frozen=True):
    """A question to the person; the reply goes on after `/approve`."""

    question: str


Move = str | Hold | Note | Ask | HermesError
Said = str | Note | Ask


class Script:
    """Replies by the exact text of the message; anything else is echoed."""

    def __init__(self) -> None:
        self._replies: dict[str, tuple[Move, ...]] = {}

    def on(self, text: str, *moves: Move) -> None:
        """Answer `text` with these moves: pieces of text, holds, notes, or a failure."""
        self._replies[text] = moves

    async def play(self, text: str) -> AsyncIterator[Said]:
        """Yield the pieces of the answer to `text`."""
        for move in self._replies.get(text, (f"You said: {text}",)):
            if isinstance(move, HermesError):
                raise move
            if isinstance(move, Hold):
                await move.stand()
            else:
                yield move
