"""Writes the usage of calls outside turns to the ledger, in batches a moment later.

A turn's calls are written by its own steps and commit; only `/v1` uses this. A crash loses at most
the lag.
"""

import asyncio
from contextlib import suppress

import structlog

from hermes.errors import HermesError, StoreRejected
from hermes.ports.spend import CallLine, SpendEntry, SpendStore

_log = structlog.get_logger(__name__)
_MOST_WAITING = 100_000
_RETRY_S = 1.0
_Call = tuple[tuple[SpendEntry, ...], CallLine]


class CallLedger:
    """Collects lines for `lag_s` and writes them in one transaction."""

    def __init__(self, store: SpendStore, *, lag_s: float) -> None:
        self._store = store
        self._lag_s = lag_s
        self._waiting: list[_Call] = []
        self._writing: asyncio.Task[None] | None = None
        self._is_closing = asyncio.Event()

    def note(self, spent: tuple[SpendEntry, ...], line: CallLine) -> None:
        """Keep the usage of a call, to be written within the lag."""
        if len(self._waiting) >= _MOST_WAITING:
            _log.error("ledger_overflows", call_id=line.id)
            return
        self._waiting.append((spent, line))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_soon(), name="call-ledger")

    async def close(self) -> None:
        """Write what is left."""
        # A write is never cancelled: its lines would be lost if the store refuses one of them.
        self._is_closing.set()
        if self._writing is not None:
            await asyncio.gather(self._writing, return_exceptions=True)
        if self._waiting:
            await self._write()

    async def _write_soon(self) -> None:
        wait = self._lag_s
        while self._waiting:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._is_closing.wait()
            wait = self._lag_s if await self._write() else _RETRY_S
            if self._is_closing.is_set():
                break
        self._writing = None

    async def _write(self) -> bool:
        calls, self._waiting = self._waiting, []
        try:
            await self._add(calls)
        except StoreRejected:
            return await self._write_singly(calls)
        except HermesError as error:
            self._keep(calls, error)
            return False
        return True

    async def _write_singly(self, calls: list[_Call]) -> bool:
        """Write call by call; drop one that the store rejects, so that it blocks no other."""
        for number, call in enumerate(calls):
            try:
                await self._add([call])
            except StoreRejected as error:
                _log.error("ledger_line_refused", call_id=call[1].id, problem=str(error))
            except HermesError as error:
                self._keep(calls[number:], error)
                return False
        return True

    async def _add(self, calls: list[_Call]) -> None:
        spent = [one for some, _ in calls for one in some]
        await self._store.add(spent, lines=[line for _, line in calls])

    def _keep(self, calls: list[_Call], error: HermesError) -> None:
        _log.error("ledger_waits", calls=len(calls), problem=str(error))
        self._waiting[:0] = calls
