"""Runs a search on an open index, newest messages first, until its time is up.

The searcher decides what may be searched. In a direct chat people find what they said themselves,
anywhere, and the threads they took part in; where others read along, only that session.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import apsw

from hermes.message.session_key import base_lane, is_direct, is_shared, root_lane
from hermes.ports.search import FoundMessage, SearchAsk, Searcher
from hermes.store.search.file import SQL
from hermes.store.search.index_writer import ROLES, parts_of
from hermes.store.search.query import (
    SearchQuery,
    parts_query,
    read_question,
    snippet,
    words_query,
)
from hermes.store.search.tags import Tag, mark, quoted
from hermes.store.search.text_folds import fold
from hermes.store.sqlite.connection import Database, translate

_MOST_THREADS = 200
# Clocks are sometimes set back: only older messages than this end the walk into the past.
_CLOCK_SLACK_S = 2 * 86_400.0
_OPS_BETWEEN_LOOKS = 20_000

Marks = tuple[tuple[Tag, int], ...]


class Scope(NamedTuple):
    """What may be searched: messages with one of the marks of every group."""

    groups: tuple[Marks, ...]

    def query(self) -> str:
        """Return the scope as an index query; empty if everything may be searched."""
        groups = (" OR ".join(quoted(mark(*one)) for one in group) for group in self.groups)
        return " AND ".join(f"({group})" for group in groups)


class Hits(NamedTuple):
    """What was found, and whether that is everything."""

    found: tuple[FoundMessage, ...]
    is_complete: bool
    ignored: tuple[str, ...]


class Finder:
    """Searches one open index; `is_erased` names people whose messages must not be shown."""

    def __init__(
        self, db: Database, *, is_erased: Callable[[str], bool], monotonic: Callable[[], float]
    ) -> None:
        self._db = db
        self._is_erased = is_erased
        self._monotonic = monotonic

    def find(self, ask: SearchAsk, *, seconds: float) -> Hits:
        """Return what matches, newest first."""
        question = read_question(ask.text, ask.mode)
        scope = self._scope(ask)
        if question.is_empty or scope is None:
            return Hits((), True, question.ignored)
        deadline = self._monotonic() + seconds
        self._db.set_progress_handler(lambda: self._monotonic() > deadline, _OPS_BETWEEN_LOOKS)
        found: list[FoundMessage] = []
        is_complete = True
        try:
            for hit in self._hits(ask, question, scope=scope):
                if hit is not None:
                    found.append(hit)
                if len(found) >= ask.limit:
                    break
                if self._monotonic() > deadline:
                    is_complete = False
                    break
        except apsw.InterruptError:
            is_complete = False
        except apsw.Error as error:
            raise translate(error, "the search") from error
        finally:
            self._db.set_progress_handler(None)
        return Hits(tuple(found), is_complete, question.ignored)

    def _hits(
        self, ask: SearchAsk, question: SearchQuery, *, scope: Scope
    ) -> Iterator[FoundMessage | None]:
        """Iterate over the candidates; yield None for each that does not match."""
        by_parts = bool(question.parts)
        own = parts_query(question) if by_parts else words_query(question)
        query = " AND ".join(filter(None, (own, scope.query())))
        oldest = ask.since
        cursor = self._db.execute(SQL["by_parts" if by_parts else "by_words"], (query,))
        try:
            for row in cursor:
                at = float(row[4])
                if oldest is not None and at < oldest:
                    if at < oldest - _CLOCK_SLACK_S:
                        return
                    yield None
                elif question.fits(fold(row[6])):
                    yield self._found(row, question)
                else:
                    yield None
        finally:
            cursor.close()

    # Any: a row of SQLite's values; the query decides the columns.
    def _found(self, row: tuple[Any, ...], question: SearchQuery) -> FoundMessage | None:
        _, graph, person, role, at, turn, text = row
        person_id = self._name(person)
        if self._is_erased(person_id):
            return None
        name = str(self._db.rows(SQL["graph"], (graph,))[0][0])
        session, agent, platform = parts_of(name)
        said_by: Literal["user", "assistant"] = "user" if ROLES[role] == "user" else "assistant"
        return FoundMessage(
            at=at,
            session=session,
            agent=agent,
            platform=platform,
            person_id=person_id,
            role=said_by,
            message_id=turn,
            snippet=snippet(text, question),
        )

    def _name(self, number: int) -> str:
        row = self._db.row(SQL["name"], (number,))
        return "" if row is None else str(row[0])

    def _number(self, kind: Tag, name: str) -> int:
        """Return the number of a name; 0, which is never used, for an unknown name."""
        row = self._db.row(SQL["number"], (kind, name))
        return 0 if row is None else int(row[0])

    def _scope(self, ask: SearchAsk) -> Scope | None:
        """Return what may be searched; None if there is nothing."""
        groups: list[Marks] = []
        if ask.asker is not None:
            groups.extend(self._allowed(ask.asker))
        if ask.person_id is not None:
            person = self._number(Tag.PERSON, ask.person_id)
            groups.append(((Tag.PERSON, person), (Tag.OWNER, person)))
        if ask.agent is not None:
            groups.append(((Tag.AGENT, self._number(Tag.AGENT, ask.agent)),))
        if ask.platform is not None:
            groups.append(((Tag.PLATFORM, self._number(Tag.PLATFORM, ask.platform)),))
        is_nobody = any(all(number == 0 for _, number in group) for group in groups)
        return None if is_nobody else Scope(tuple(groups))

    def _allowed(self, asker: Searcher) -> list[Marks]:
        """Return what a person may see from their chat."""
        lane = root_lane(base_lane(asker.lane))
        person = self._number(Tag.PERSON, asker.person_id)
        here = self._number(Tag.CHAT, lane)
        own: Marks = ((Tag.PERSON, person),)
        session: Marks = ((Tag.CHAT, here),)
        if is_shared(lane):
            return [session]
        is_alone = asker.is_private and is_direct(lane) and not self._is_shared(here, person)
        if person and is_alone:
            threads = self._db.rows(SQL["threads_of"], (person, _MOST_THREADS))
            return [(*own, *((Tag.CHAT, int(row[0])) for row in threads))]
        return [session, own]

    def _is_shared(self, chat: int, person: int) -> bool:
        """Return whether several people write in a direct chat."""
        return any(row[0] != person for row in self._db.rows(SQL["people_of_chat"], (chat,)))
