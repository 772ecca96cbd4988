"""Writes messages to the index and removes them; names are stored as numbers.

Everything here runs inside a transaction of the caller.
"""

import json
from collections.abc import Iterable, Set

from hermes.message.session_key import is_shared, unescape
from hermes.store.search.file import SQL
from hermes.store.search.graph_reader import Addition, IndexMessage
from hermes.store.search.tags import Tag, mark, quoted
from hermes.store.search.text_folds import as_words, cut, fold
from hermes.store.sqlite.connection import Database

ROLES = ("user", "assistant")
_MOST_KNOWN = 500


class IndexedGraph:
    """A graph as the index knows it: the numbers of its session, agent and platform."""

    __slots__ = ("agent", "chat", "is_child", "is_shared", "platform")

    def __init__(self, db: Database, name: str) -> None:
        lane, agent, platform = parts_of(name)
        self.is_child = "/" in lane
        self.is_shared = is_shared(lane) and not self.is_child
        self.chat = number_of(db, Tag.CHAT, lane)
        self.agent = number_of(db, Tag.AGENT, agent)
        self.platform = number_of(db, Tag.PLATFORM, platform)

    def marks(self, person: int) -> tuple[str, str, str, str]:
        """Return the marks of a message in this graph."""
        who = Tag.OWNER if self.is_child else Tag.PERSON
        chat = "" if self.is_child else mark(Tag.CHAT, self.chat)
        return (
            mark(who, person),
            chat,
            mark(Tag.AGENT, self.agent),
            mark(Tag.PLATFORM, self.platform),
        )


def parts_of(name: str) -> tuple[str, str, str]:
    """Return the session of a graph's name, its agent and its platform."""
    lane = name.rpartition("#")[0] or name
    _, agent, platform, *_ = (*lane.split(":", 3), "", "")
    return lane, unescape(agent), unescape(platform)


def number_of(db: Database, kind: Tag, name: str) -> int:
    """Return the number of a name, creating it if it is new."""
    row = db.row(SQL["number"], (kind, name))
    if row is not None:
        return int(row[0])
    db.execute(SQL["add_name"], (kind, name))
    return db.last_insert_rowid()


class IndexWriter:
    """Writes to one open index; its cache is dropped when a transaction fails."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.forget()

    def forget(self) -> None:
        """Drop the cache."""
        self._places: dict[int, IndexedGraph] = {}
        self._people: dict[str, int] = {}
        self._members: set[tuple[int, int]] = set()
        self._newest: int | None = None

    def put(self, addition: Addition, spoken: Iterable[IndexMessage], *, name: str) -> int:
        """Write what a version added; return the number of messages."""
        count = 0
        for one in spoken:
            self._put(addition, one, place=self.place(addition.graph, name))
            count += 1
        return count

    def place(self, graph: int, name: str) -> IndexedGraph:
        """Return the numbers of a graph, creating them if it is new."""
        place = self._places.get(graph)
        if place is None:
            _keep_small(self._places)
            place = self._places[graph] = IndexedGraph(self._db, name)
            self._db.execute(SQL["add_graph"], (graph, name, place.chat, place.is_shared))
        return place

    def _put(self, addition: Addition, spoken: IndexMessage, *, place: IndexedGraph) -> None:
        db, person = self._db, self._person(spoken.person)
        if (person, addition.graph) not in self._members:
            _keep_small(self._members)
            db.execute(SQL["add_member"], (person, addition.graph))
            self._members.add((person, addition.graph))
        if self._newest is None:
            self._newest = int(db.one(SQL["newest"]) or 0)
        self._newest += 1
        text, role = cut(spoken.text), ROLES.index(spoken.role)
        row = (self._newest, addition.graph, person, role, addition.at, addition.turn, text)
        db.execute(SQL["add_message"], row)
        folded, marks = fold(text), place.marks(person)
        db.execute(SQL["add_parts"], (self._newest, folded, *marks))
        db.execute(SQL["add_words"], (self._newest, as_words(folded), *marks))

    def _person(self, name: str) -> int:
        number = self._people.get(name)
        if number is None:
            _keep_small(self._people)
            number = self._people[name] = number_of(self._db, Tag.PERSON, name)
        return number

    def take_out_person(self, number: int, *, limit: int) -> bool:
        """Remove messages of a person; return True while there are more."""
        db, count = self._db, 0
        for tag in (Tag.PERSON, Tag.OWNER):
            rows = db.rows(SQL["marked"], (quoted(mark(tag, number)), limit - count))
            for id_, graph, text in rows:
                self._take_out(id_, self._known_place(graph).marks(number), text=text)
            count += len(rows)
        if count < limit:
            db.execute(SQL["drop_members"], (number,))
            db.execute(SQL["drop_name"], (number,))
        self.forget()
        return count >= limit

    def rename(self, graph: int, before: str, after: str) -> None:
        """Take over the other name of a graph, whose person was erased, and that of its session."""
        self._db.execute(SQL["name_graph"], (graph, after))
        self._db.execute(SQL["name_chat"], (parts_of(before)[0], parts_of(after)[0]))
        self.forget()

    def take_out_graphs(self, graphs: Set[int], *, limit: int) -> bool:
        """Remove messages of graphs and their numbers; return True while there are more."""
        db, listed = self._db, json.dumps(sorted(graphs))
        rows = db.rows(SQL["of_graphs"], (listed, limit))
        for id_, graph, person, text in rows:
            self._take_out(id_, self._known_place(graph).marks(person), text=text)
        if len(rows) < limit:
            db.execute(SQL["drop_waiting_of"], (listed,))
            db.execute(SQL["drop_positions"], (listed,))
            db.execute(SQL["drop_members_of"], (listed,))
            db.execute(SQL["drop_graphs"], (listed,))
        self.forget()
        return len(rows) >= limit

    def _known_place(self, graph: int) -> IndexedGraph:
        name, *_ = self._db.rows(SQL["graph"], (graph,))[0]
        return self.place(graph, name)

    def _take_out(self, id_: int, marks: tuple[str, str, str, str], *, text: str) -> None:
        folded, db = fold(text), self._db
        db.execute(SQL["drop_parts"], (id_, folded, *marks))
        db.execute(SQL["drop_words"], (id_, as_words(folded), *marks))
        db.execute(SQL["drop_message"], (id_,))


def _keep_small(known: dict[int, IndexedGraph] | dict[str, int] | set[tuple[int, int]]) -> None:
    if len(known) >= _MOST_KNOWN:
        known.clear()
