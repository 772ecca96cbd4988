"""The one writer: collects units of work into one transaction per disk flush (group commit).

Statements run on the event loop's thread, where they cost microseconds and meet no lock; only the
COMMIT, which waits for the disk, runs in its own thread. Units that arrive meanwhile form the next
batch. A batch runs without savepoints; if a unit fails, the batch is rolled back and run again with
a savepoint for each unit, so that only that one fails. So a unit may run twice, and must change
nothing but the database. It has a failpoint on each side of its commit.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic

import apsw
import structlog

from hermes import failpoints
from hermes.errors import HermesError, StorageFull, StoreError, StoreRejected
from hermes.store.sql.tx import Result, Unit
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.tx import SqliteTx, drive

_log = structlog.get_logger(__name__)
# A failure seldom comes alone: this many batches after it run with savepoints.
_WARY_BATCHES = 16


class _Job(Generic[Result]):
    """A unit, its waiter, and its result before the commit."""

    __slots__ = ("after", "error", "future", "name", "result", "unit")

    def __init__(
        self,
        name: str,
        unit: Unit[Result],
        *,
        after: Callable[[Result], None] | None,
        future: "asyncio.Future[Result]",
    ) -> None:
        self.name = name
        self.unit = unit
        self.after = after
        self.future = future
        self.result: Result
        self.error: HermesError | None = None


class Writer:
    """Runs units in order, many in one transaction."""

    def __init__(
        self,
        db: Database,
        *,
        batch_max: int,
        on_full: Callable[[StorageFull], None],
        on_undone: Callable[[], None],
    ) -> None:
        self._db = db
        self._tx = SqliteTx(db)
        self._on_full = on_full
        # Called after a rollback: what was learned meanwhile may be wrong.
        self._on_undone = on_undone
        self._batch_max = batch_max
        # Any: jobs of different result types share one queue.
        self._queue: deque[_Job[Any]] = deque()
        self._committer = ThreadPoolExecutor(1, thread_name_prefix="hermes-commit")
        self._busy = False
        self._wary = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self.commits = 0
        self.units = 0

    async def run(
        self, name: str, unit: Unit[Result], *, after: Callable[[Result], None] | None = None
    ) -> Result:
        """Run `unit` in the next transaction; return when it is on disk.

        Cancelling the caller does not cancel the unit. `after` runs on the loop once the unit is
        durable, even if nobody waits any more.
        """
        loop = asyncio.get_running_loop()
        job = _Job(name, unit, after=after, future=loop.create_future())
        self._queue.append(job)
        if not self._busy:
            self._busy = True
            self._idle.clear()
            loop.call_soon(self._start_batch)
        result: Result = await job.future
        return result

    async def close(self) -> None:
        """Wait for everything that was submitted, then end the thread."""
        await self._idle.wait()
        self._committer.shutdown()

    def _start_batch(self) -> None:
        loop = asyncio.get_running_loop()
        batch = [self._queue.popleft() for _ in range(min(len(self._queue), self._batch_max))]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            if self._wary or not self._run_straight(batch):
                self._run_units(batch)
        except apsw.Error as error:
            self._abandon(batch, self._db.failure(error, "the transaction"))
            return
        committed = loop.run_in_executor(self._committer, self._db.execute, "COMMIT")
        committed.add_done_callback(lambda done: self._end_batch(batch, done))

    def _run_straight(self, batch: list[_Job[Any]]) -> bool:
        """Run the units without savepoints, which cost a copy of every page that they touch.

        Returns False if one of them failed; then none of them has written anything.
        """
        for job in batch:
            failpoints.hit(f"store.{job.name}.before")
            try:
                job.result = drive(job.unit(self._tx))
            except Exception:  # noqa: BLE001  unit boundary: all run again, the failing one gets its error
                self._wary = _WARY_BATCHES
            if self._wary or not self._db.in_transaction:
                self._start_again()
                return False
        return True

    def _start_again(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._db.execute("BEGIN IMMEDIATE")
        self._on_undone()

    def _run_units(self, batch: list[_Job[Any]]) -> None:
        self._wary = max(self._wary - 1, 0)
        for job in batch:
            failpoints.hit(f"store.{job.name}.before")
            self._run_unit(job)
            if not self._db.in_transaction:
                raise apsw.FullError("the transaction was rolled back")

    def _run_unit(self, job: _Job[Any]) -> None:
        self._db.execute("SAVEPOINT unit")
        try:
            job.result = drive(job.unit(self._tx))
        except HermesError as error:
            job.error = error
        except apsw.Error as error:
            job.error = self._db.failure(error, job.name)
        except Exception as error:  # noqa: BLE001  unit boundary: neighbours must not fail with it
            job.error = StoreRejected(f"{job.name}: {type(error).__name__}")
            job.error.__cause__ = error
        if job.error is not None:
            self._on_undone()
        if isinstance(job.error, StorageFull):
            self._on_full(job.error)
        if not self._db.in_transaction:
            return
        self._db.execute("RELEASE unit" if job.error is None else "ROLLBACK TO unit; RELEASE unit")

    def _end_batch(self, batch: list[_Job[Any]], done: "asyncio.Future[Any]") -> None:
        error = done.exception()
        if error is not None:
            cause = self._db.failure(error, "the commit") if isinstance(error, apsw.Error) else None
            self._abandon(batch, cause or StoreError(f"the commit failed: {error}"))
            return
        self.commits += 1
        self.units += len(batch)
        for job in batch:
            self._settle(job)
        self._next_batch()

    def _settle(self, job: _Job[Any]) -> None:
        failpoints.hit(f"store.{job.name}.after")
        if job.error is None and job.after is not None:
            try:
                job.after(job.result)
            except Exception:  # noqa: BLE001  writer boundary: the unit is durable anyway
                _log.exception("after_commit_failed", unit=job.name)
        if job.future.done():
            return
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)

    def _abandon(self, batch: list[_Job[Any]], error: HermesError) -> None:
        """Report that nothing of the batch was written, and continue with a clean transaction."""
        self._on_undone()
        try:
            if isinstance(error, StorageFull):
                self._on_full(error)
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except apsw.Error:
            _log.exception("rollback_failed")
        finally:
            for job in batch:
                if not job.future.done():
                    job.future.set_exception(job.error or error)
            self._next_batch()

    def _next_batch(self) -> None:
        if self._queue:
            asyncio.get_running_loop().call_soon(self._start_batch)
        else:
            self._busy = False
            self._idle.set()
