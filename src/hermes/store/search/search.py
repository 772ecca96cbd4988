"""The search port over SQLite: one thread fills the index, another one searches it.

The event loop only delegates. Before a search the index is updated within a short time limit, so
that filling may be lazy otherwise.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import apsw
import structlog

from hermes.errors import BadRequest, StoreError, StoreRejected
from hermes.ports.clock import Clock
from hermes.ports.search import MOST_RESULTS, IndexState, SearchAsk, SearchResult
from hermes.store.search.file import (
    SQL,
    UnusableIndex,
    index_bytes,
    open_beside,
    open_index,
    remove_index,
)
from hermes.store.search.fill import Filler
from hermes.store.search.graph_reader import Graphs
from hermes.store.search.lookup import Finder, Hits
from hermes.store.search.notes import Note, Notes
from hermes.store.sql.queries import load
from hermes.store.sqlite.connection import open_reader, translate

_PEOPLE = load("people")
_LONGEST_S = 1.0
_CATCH_UP_S = 0.5
_MOST_FAILURES = 3
_Answer = TypeVar("_Answer")
_log = structlog.get_logger(__name__)


class _Filling:
    """The index as the filling thread has it open."""

    def __init__(self, path: Path, *, database: Path, key_file: bytes) -> None:
        self.graphs = Graphs(database, key_file)
        self.key = self.graphs.index_key()
        try:
            self.db = open_index(path, self.key)
        # Boundary of the opening: an index that does not open must not keep the database open.
        except BaseException:
            self.graphs.close()
            raise
        self.filler = Filler(self.db, self.graphs)

    def close(self) -> None:
        self.db.close()
        self.graphs.close()


class _Asking:
    """The index and the database as the searching thread has them open."""

    def __init__(self, path: Path, key: bytes, *, database: Path, clock: Clock) -> None:
        self.db = open_beside(path, key)
        self._people = open_reader(database, vfs=None)
        self.finder = Finder(self.db, is_erased=self._is_erased, monotonic=clock.monotonic)

    def _is_erased(self, person_id: str) -> bool:
        return self._people.row(_PEOPLE["key"], (person_id,)) is None

    def close(self) -> None:
        self.db.close()
        self._people.close()


class SqliteSearch:
    """Implements `ports.search.Search`; each thread opens its files on first use.

    The store adds committed turns to `notes`; they are indexed later.
    """

    def __init__(
        self, path: Path, *, database: Path, key_file: bytes, notes: Notes, clock: Clock
    ) -> None:
        self._path = path
        self._database = database
        self._key_file = key_file
        self._clock = clock
        self._notes = notes
        self._fills = ThreadPoolExecutor(1, thread_name_prefix="hermes-index")
        self._asks = ThreadPoolExecutor(1, thread_name_prefix="hermes-search")
        self._filling: _Filling | None = None
        self._asking: _Asking | None = None
        # The number of the file: a search notices when it was replaced.
        self._made = 0
        self._asked = -1
        self._failures = 0

    def use_keys(self, key_file: bytes) -> None:
        """Use the key file of a rotation; it also holds the old keys."""
        self._key_file = key_file
        if self._filling is not None:
            self._filling.graphs.use_keys(key_file)

    async def find(self, ask: SearchAsk) -> SearchResult:
        """Return what was found in everything said so far."""
        if not 1 <= ask.limit <= MOST_RESULTS:
            raise BadRequest(f"{ask.limit} results: expected a number from 1 to {MOST_RESULTS}.")
        until = self._clock.monotonic() + _CATCH_UP_S
        while await self.fill() and self._clock.monotonic() < until:
            pass
        hits = await self._ask(ask)
        unread = await self._in(self._fills, self._unread)
        return SearchResult(
            found=hits.found,
            is_complete=hits.is_complete,
            unread=unread + len(self._notes),
            ignored=hits.ignored,
        )

    async def _ask(self, ask: SearchAsk) -> Hits:
        """Search the index; if it is damaged, rebuild it and search once more."""
        try:
            return await self._in(self._asks, lambda: self._find(ask))
        except StoreRejected as problem:
            if not _is_damage(problem):
                raise
            damaged = problem
        await self._in(self._fills, lambda: self._begin_anew(damaged))
        await self.fill()
        self._notes.wanted.set()
        return await self._in(self._asks, lambda: self._find(ask))

    async def fill(self) -> bool:
        """Index a part of what is new; return True while there is more."""
        notes, grown = self._notes.take()
        return await self._in(self._fills, lambda: self._step(notes, grown))

    async def wait_for_work(self, timeout_s: float) -> None:
        """Return when there is much to index, or after the time."""
        try:
            await asyncio.wait_for(self._notes.wanted.wait(), timeout_s)
        except TimeoutError:
            return
        self._notes.wanted.clear()

    async def erased(self, person_id: str) -> None:
        """Remove the messages of an erased person; buffered ones are not written."""
        notes, grown = self._notes.take()
        others = grown | {note.graph for note in notes}
        while await self._in(self._fills, lambda: self._take_out(person_id, others)):
            pass

    async def pruned(self, graphs: Sequence[int]) -> None:
        """Remove the messages of deleted graphs."""
        gone = frozenset(graphs)
        while await self._in(self._fills, lambda: self._take_out_graphs(gone)):
            pass

    async def rebuild(self) -> None:
        """Delete the index; filling builds it again."""
        await self._in(self._fills, self._remake)
        self._notes.wanted.set()

    async def state(self) -> IndexState:
        """Return the state of the index."""
        return await self._in(self._fills, self._state)

    async def close(self) -> None:
        """Close the files after running work."""
        await self._in(self._asks, self._close_asking)
        await self._in(self._fills, self._close_filling)
        self._asks.shutdown()
        self._fills.shutdown()

    async def _in(self, thread: ThreadPoolExecutor, work: Callable[[], _Answer]) -> _Answer:
        return await asyncio.get_running_loop().run_in_executor(thread, work)

    def _at_work(self) -> _Filling:
        if self._filling is None:
            self._filling = _Filling(self._path, database=self._database, key_file=self._key_file)
            self._made += 1
        return self._filling

    def _step(self, notes: list[Note], grown: set[int]) -> bool:
        return self._mended(lambda: self._at_work().filler.step(notes, grown))

    def _take_out(self, person_id: str, others: set[int]) -> bool:
        """Remove messages of a person; return True while there are more; reads `others`."""

        def work() -> bool:
            filler = self._at_work().filler
            filler.read_again(others)
            return filler.take_out(person_id)

        return self._mended(work)

    def _take_out_graphs(self, graphs: frozenset[int]) -> bool:
        return self._mended(lambda: self._at_work().filler.take_out_graphs(graphs))

    def _mended(self, work: Callable[[], bool]) -> bool:
        """Run a step; if the index cannot be used, start a new one."""
        try:
            return work()
        except UnusableIndex as problem:
            self._begin_anew(problem)
        except StoreRejected as problem:
            if not _is_damage(problem):
                raise
            self._begin_anew(problem)
        except (apsw.CorruptError, apsw.NotADBError) as problem:
            self._begin_anew(translate(problem, "the index"))
        except apsw.Error as error:
            raise translate(error, "the search index") from error
        return True

    def _begin_anew(self, problem: Exception) -> None:
        self._failures += 1
        if self._failures > _MOST_FAILURES:
            raise StoreError(
                f"the search index was rebuilt {_MOST_FAILURES} times and still fails: {problem}. "
                "`hermes graph verify` checks the conversations; restart to try once more."
            ) from problem
        _log.warning("search_index_made_again", problem=str(problem))
        self._remake()

    def _remake(self) -> None:
        self._close_filling()
        remove_index(self._path)

    def _unread(self) -> int:
        return self._at_work().filler.waiting()

    def _state(self) -> IndexState:
        work = self._at_work()
        return IndexState(
            messages=int(work.db.one(SQL["newest"]) or 0),
            waiting=work.filler.waiting() + len(self._notes),
            bytes=index_bytes(self._path),
            is_whole=work.filler.is_whole,
        )

    def _find(self, ask: SearchAsk) -> Hits:
        if self._asked != self._made or self._asking is None:
            self._close_asking()
            filling = self._filling
            if filling is None:
                raise StoreError("the search index is being rebuilt; search again later")
            self._asked = self._made
            self._asking = _Asking(
                self._path, filling.key, database=self._database, clock=self._clock
            )
        return self._asking.finder.find(ask, seconds=_LONGEST_S)

    def _close_asking(self) -> None:
        if self._asking is not None:
            self._asking.close()
            self._asking = None

    def _close_filling(self) -> None:
        if self._filling is not None:
            self._filling.close()
            self._filling = None


def _is_damage(problem: StoreRejected) -> bool:
    """Return whether the index is damaged, rather than the query being wrong."""
    return isinstance(problem.__cause__, apsw.CorruptError | apsw.NotADBError)
