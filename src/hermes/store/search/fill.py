"""Fills the index from the message graphs, in steps that each end with a commit.

The progress is in the index itself, written together with the messages: a crash repeats nothing and
loses nothing. The first steps look at every graph once. If they find something unexpected (a
database restored from a backup), the index is rebuilt; messages of deleted graphs are removed.
"""

from collections.abc import Set

import msgspec
import structlog

from hermes.errors import HermesError
from hermes.message.session_key import names_nobody, root_lane
from hermes.store.search.file import SQL, UnusableIndex
from hermes.store.search.graph_reader import Addition, BranchState, Graphs, IndexMessage, additions
from hermes.store.search.index_writer import IndexWriter, parts_of
from hermes.store.search.notes import Note
from hermes.store.sqlite.connection import Database

_GRAPHS_AT_ONCE = 500
_GROWN_AT_ONCE = 100
_TURNS_AT_ONCE = 200
_MESSAGES_OUT_AT_ONCE = 100
_OF_GRAPHS_AT_ONCE = 1_000
_log = structlog.get_logger(__name__)


class Filler:
    """Updates one open index."""

    def __init__(self, db: Database, graphs: Graphs) -> None:
        self._db = db
        self._graphs = graphs
        self._pen = IndexWriter(db)
        self._looked_to: int | None = 0
        self._grown: set[int] = set()
        self._gone: frozenset[str] = frozenset()

    @property
    def is_whole(self) -> bool:
        """A crash may lose the newest messages: they are read again from the recorded position."""
        return self._looked_to is None and not self.waiting()

    def waiting(self) -> int:
        """Return how many known turns are not in the index yet."""
        return int(self._db.one(SQL["count_waiting"])) + len(self._grown)

    def read_again(self, grown: set[int]) -> None:
        """Read these graphs again in one of the next steps."""
        self._grown |= grown

    def step(self, notes: list[Note], grown: set[int]) -> bool:
        """Index some of what is new; return True while there is more."""
        self._grown |= grown
        try:
            return self._step(notes)
        # Boundary of a step: what was read into memory may not be on disk.
        except BaseException:
            self._pen.forget()
            self._grown |= {note.graph for note in notes}
            raise

    def _step(self, notes: list[Note]) -> bool:
        if self._looked_to is None and not self._grown and not self._next(1):
            self._grown = self._put_notes(notes)
            return self._take_out_erased() or bool(self._grown)
        self._grown |= {note.graph for note in notes}
        if self._looked_to is not None:
            self._looked_to = self._look_on(self._looked_to)
            if self._looked_to is None:
                self._gone = frozenset()
        else:
            self._list_grown()
            self._drain()
        return True

    def _next(self, limit: int) -> list[Addition]:
        return [Addition(*row) for row in self._db.rows(SQL["next_waiting"], (limit,))]

    def _look_on(self, after: int) -> int | None:
        """Compare the next graphs with the index; return the last one, None at the end."""
        last, branches = self._graphs.page(after, _GRAPHS_AT_ONCE)
        until = 2**62 if last is None else last
        names = dict(self._db.rows(SQL["known_graphs"], (after, until)))
        rows = self._db.rows(SQL["positions"], (after, until))
        positions = {(row[0], row[1]): (row[2], row[3]) for row in rows}
        there = {one.graph: one.name for one in branches}
        gone = names.keys() - there.keys()
        while gone and self.take_out_graphs(gone):
            pass
        positions = {place: at for place, at in positions.items() if place[0] not in gone}
        other = {graph: name for graph, name in there.items() if names.get(graph, name) != name}
        for graph, name in other.items():
            if not names_nobody(name):
                raise UnusableIndex(f"the database has no graph {graph} of the name it has here")
        with self._db:
            for graph, name in other.items():
                self._pen.rename(graph, names[graph], name)
            for branch in branches:
                known = positions.pop((branch.graph, branch.branch), None)
                if known != (branch.version, branch.root):
                    self._list(branch, known)
        if positions:
            raise UnusableIndex("the database lacks a branch that is here")
        return last

    def _list_grown(self) -> None:
        some = sorted(self._grown)[:_GROWN_AT_ONCE]
        with self._db:
            for graph in some:
                for branch in self._graphs.branches(graph):
                    known = self._db.row(SQL["position"], (graph, branch.branch))
                    if known != (branch.version, branch.root):
                        self._list(branch, known)
        self._grown.difference_update(some)

    def _list(self, branch: BranchState, known: tuple[int, bytes] | None) -> None:
        """Queue the versions of a branch that are not indexed yet."""
        version, root = known or (-1, None)
        if version > branch.version:
            raise UnusableIndex(f"graph {branch.graph} is at an earlier version than it was")
        try:
            moves = self._graphs.moves(branch, max(0, version))
        except HermesError as error:
            _log.error("search_cannot_read", graph=branch.name, problem=str(error))
            moves = []
        if moves and version >= 0:
            first = moves.pop(0)
            if (first.number, first.after) != (version, root):
                raise UnusableIndex(f"graph {branch.graph} has another past than it had")
        self._pen.place(branch.graph, branch.name)
        for addition in additions(moves, graph=branch.graph):
            self._db.execute(SQL["add_waiting"], addition)
        self._reached(branch.graph, branch.branch, version=branch.version, root=branch.root)

    def _reached(self, graph: int, branch: str, *, version: int, root: bytes) -> None:
        self._db.execute(SQL["set_position"], (graph, branch, version, root))

    def _drain(self) -> None:
        """Index the oldest queued versions."""
        with self._db:
            for addition in self._next(_TURNS_AT_ONCE):
                name, *_ = self._db.rows(SQL["graph"], (addition.graph,))[0]
                self._pen.put(addition, self._spoken(addition, name), name=name)
                self._db.execute(SQL["drop_waiting"], addition[:4])

    def _spoken(self, addition: Addition, name: str) -> tuple[IndexMessage, ...]:
        """Return what a version added; a damaged version must not block the others."""
        try:
            return tuple(self._graphs.spoken(addition, name=name))
        except (HermesError, msgspec.DecodeError) as error:
            _log.error("search_cannot_read", graph=name, problem=str(error))
            return ()

    def _put_notes(self, notes: list[Note]) -> set[int]:
        """Index what commits of this process said; return the graphs that must be read."""
        left: set[int] = set()
        for start in range(0, len(notes), _TURNS_AT_ONCE):
            with self._db:
                for note in notes[start : start + _TURNS_AT_ONCE]:
                    if not self._put_note(note):
                        left.add(note.graph)
        return left

    def _put_note(self, note: Note) -> bool:
        """Index a turn; return False if it does not follow what is indexed."""
        move = note.move
        known = self._db.row(SQL["position"], (note.graph, move.branch))
        if known is not None and known[0] >= move.number:
            return True
        if (known or (-1, None)) != (move.number - 1, move.before):
            return False
        addition = note.addition()
        self._pen.place(note.graph, move.graph)
        if addition is not None:
            spoken = () if self._graphs.is_temporary(move.graph) else note.spoken
            self._pen.put(addition, spoken, name=move.graph)
        self._reached(note.graph, move.branch, version=move.number, root=move.after)
        return True

    def _take_out_erased(self) -> bool:
        """Remove the messages of erased people; return True while there are more."""
        erased = self._graphs.erased()
        new = erased - self._gone
        for person in new:
            if self.take_out(person):
                return True
        self._gone = erased
        return False

    def _rename_graphs(self, person: int) -> None:
        """Take over the names that the conversations of an erased person have now."""
        for graph, before in self._db.rows(SQL["graphs_of_person"], (person,)):
            after = self._graphs.name(graph)
            if after is None or after == before or not names_nobody(after):
                continue
            old, new = (root_lane(parts_of(name)[0]) for name in (before, after))
            for one, name in self._db.rows(SQL["graphs_below"], (old,)):
                self._pen.rename(one, name, new + name.removeprefix(old))

    def take_out_graphs(self, graphs: Set[int]) -> bool:
        """Remove messages of deleted graphs; return True while there are more."""
        self._grown.difference_update(graphs)
        try:
            with self._db:
                has_more = self._pen.take_out_graphs(graphs, limit=_OF_GRAPHS_AT_ONCE)
        # Boundary of a step, as above.
        except BaseException:
            self._pen.forget()
            raise
        if not has_more:
            self._db.pragma("wal_checkpoint(truncate)")
            _log.info("search_forgot_graphs", count=len(graphs))
        return has_more

    def take_out(self, person: str) -> bool:
        """Remove messages of a person; return True while there are more."""
        self._graphs.forget(person)
        row = self._db.row(SQL["number"], (0, person))
        if row is None:
            return False
        try:
            with self._db:
                self._rename_graphs(int(row[0]))
                has_more = self._pen.take_out_person(int(row[0]), limit=_MESSAGES_OUT_AT_ONCE)
        # Boundary of a step, as above.
        except BaseException:
            self._pen.forget()
            raise
        if not has_more:
            # The log's copies of them are removed, too.
            self._db.pragma("wal_checkpoint(truncate)")
            _log.info("search_forgot_person", person_id=person)
        return has_more
