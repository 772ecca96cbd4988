"""Joins the configured channels, and rejoins them after a kick, with growing delays."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import structlog

from hermes.contrib.irc.inbound import IrcIdentity
from hermes.contrib.irc.line_rate import Sleep
from hermes.contrib.irc.wire import IrcLine, fold, write_line
from hermes.errors import ConnectFailed

_FIRST_WAIT_S: Final = 5.0
_LONGEST_WAIT_S: Final = 600.0
_WORDS: Final = 200
# Names of 64 bytes and their keys still fit into a line.
_AT_ONCE: Final = 3
# Why a channel may not be joined; each reason may change, so all are retried, ever more rarely.
REFUSED: Final = frozenset(
    {"403", "405", "437", "471", "473", "474", "475", "476", "477", "480", "489", "520"}
)
_log = structlog.get_logger(__name__)
Write = Callable[[bytes], Awaitable[None]]


class Rooms:
    """The wanted, the joined and the retried channels."""

    def __init__(
        self,
        wanted: tuple[str, ...],
        keys: Mapping[str, str],
        *,
        write: Write,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._wanted = wanted
        self._keys = {fold(name): key for name, key in keys.items()}
        self._write = write
        self._sleep = sleep
        self._asked: set[str] = set()
        self._waits: dict[str, float] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.joined: set[str] = set()

    async def join_all(self) -> None:
        """Join every wanted channel."""
        # Keys are sent in the order of the channels, so channels with a key come first.
        names = sorted(self._wanted, key=lambda name: fold(name) not in self._keys)
        for at in range(0, len(names), _AT_ONCE):
            await self._join(*names[at : at + _AT_ONCE])

    async def _join(self, *names: str) -> None:
        keys = [self._keys[fold(name)] for name in names if fold(name) in self._keys]
        self._asked |= {fold(name) for name in names}
        await self._write(write_line("JOIN", ",".join(names), *([",".join(keys)] if keys else [])))

    def heard(self, line: IrcLine, me: IrcIdentity) -> bool:
        """Process a line; return whether it was about joining."""
        if line.command == "JOIN" and me.is_me(line.nick):
            self._stands(fold(line.at(0), me.mapping))
            return True
        if line.command == "KICK" and me.is_me(line.at(1)):
            _log.warning("irc.kicked", chat=line.at(0), by=line.nick, why=line.last[:_WORDS])
            self._left(fold(line.at(0), me.mapping))
            return True
        if line.command == "PART" and me.is_me(line.nick):
            self.joined.discard(fold(line.at(0), me.mapping))
            return True
        name = fold(line.at(1), me.mapping)
        if line.command not in REFUSED or fold(line.at(1)) not in self._asked:
            return False
        _log.warning("irc.not_joined", chat=name, code=line.command, why=line.last[:_WORDS])
        self._left(name)
        return True

    def _stands(self, name: str) -> None:
        self.joined.add(name)
        self._asked.discard(fold(name))
        _log.info("irc.joined", chat=name)

    def _left(self, name: str) -> None:
        """Retry later; the delay doubles every time."""
        self.joined.discard(name)
        self._asked.discard(fold(name))
        wanted = next((one for one in self._wanted if fold(one) == fold(name)), None)
        if wanted is None or name in self._tasks:
            return
        wait_s = self._waits.get(name, _FIRST_WAIT_S)
        self._waits[name] = min(wait_s * 2, _LONGEST_WAIT_S)
        self._tasks[name] = asyncio.create_task(
            self._again(wanted, name, wait_s), name=f"irc join {name}"
        )

    async def _again(self, wanted: str, name: str, wait_s: float) -> None:
        try:
            await self._sleep(wait_s)
            self._tasks.pop(name, None)
            await self._join(wanted)
        except ConnectFailed:
            # The next connection joins everything again.
            _log.info("irc.not_rejoined", chat=name)

    async def close(self) -> None:
        """Stop retrying."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._tasks.clear()
