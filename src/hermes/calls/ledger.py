"""What calls that are no turns took, on its way to the ledger: written together, a moment later.

A turn's calls are written by its own steps and commit; only `/v1` writes through here. A crash
loses at most the lag.
"""

import asyncio

import structlog

from hermes.errors import HermesError
from hermes.ports.spend import CallLine, SpendStore, Spent

_log = structlog.get_logger(__name__)
_MOST_WAITING = 100_000
_RETRY_S = 1.0


class CallLedger:
    """Gathers lines for `lag_s` and writes them in one unit."""

    def __init__(self, store: SpendStore, *, lag_s: float) -> None:
        self._store = store
        self._lag_s = lag_s
        self._spent: list[Spent] = []
        self._lines: list[CallLine] = []
        self._writing: asyncio.Task[None] | None = None

    def note(self, spent: tuple[Spent, ...], line: CallLine) -> None:
        """Keep what a call took, to be written within the lag."""
        if len(self._lines) >= _MOST_WAITING:
            _log.error("ledger_overflows", call_id=line.id)
            return
        self._spent.extend(spent)
        self._lines.append(line)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_soon(), name="call-ledger")

    async def close(self) -> None:
        """Write what is left."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        if self._lines:
            await self._write()

    async def _write_soon(self) -> None:
        wait = self._lag_s
        while self._lines:
            await asyncio.sleep(wait)
            wait = self._lag_s if await self._write() else _RETRY_S
        self._writing = None

    async def _write(self) -> bool:
        spent, self._spent = self._spent, []
        lines, self._lines = self._lines, []
        try:
            await self._store.add(spent, lines=lines)
        except HermesError as error:
            _log.error("ledger_waits", calls=len(lines), problem=str(error))
            self._spent[:0], self._lines[:0] = spent, lines
            return False
        return True
