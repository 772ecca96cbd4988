"""Lists messages by any filter with bounded work: it walks the index that fits best, newest first.

Of each filter one index gives the candidates, in pieces between which other work goes on; the other
conditions are checked on the rows. A page ends when it is full, or when enough rows were looked at.
"""

import asyncio
from typing import Any, NamedTuple

from hermes.errors import BadRequest
from hermes.message.outcome import MessageState
from hermes.message.session_key import graph_name
from hermes.ports.messages import MessageFilter, MessageLine, MessagePage
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Rows

_SQL = load("messages")
# Rows that are looked at for one page, and at once.
_MOST_LOOKED_AT = 4_000
_AT_ONCE = 500
# Sorts after every id: they begin with a lower-case letter.
_LAST_ID = "~"
_LAST_SEQ = 2**62
# Clocks of nodes may differ by less than this.
_SLACK_S = 60.0
_COSTS = ((1.0, "by_dollar"), (0.1, "by_dime"), (0.01, "by_cent"))
Place = int | str


class Way(NamedTuple):
    """The index that a filter walks: the query, the value it looks for, and its order."""

    query: str
    value: str = ""
    is_by_id: bool = False


class WalkBounds(NamedTuple):
    """From which message on, and up to before which, a filter can find anything."""

    first: tuple[int, str]
    stop: tuple[int, str]


def way_of(wanted: MessageFilter) -> Way:
    """Return the index that likely has the fewest messages beside those that fit."""
    cost = next((name for least, name in _COSTS if (wanted.least_usd or 0.0) >= least), "")
    has_rare_outcome = wanted.outcome not in (None, "open", "answered")
    ways = (
        (wanted.outcome == "open", Way("by_open")),
        (wanted.person_id, Way("by_person", wanted.person_id)),
        (cost in ("by_dollar", "by_dime"), Way(cost, is_by_id=True)),
        (has_rare_outcome, Way("by_outcome", wanted.outcome or "")),
        (wanted.model, Way("by_model", wanted.model, is_by_id=True)),
        (wanted.agent, Way("by_agent", wanted.agent, is_by_id=True)),
        (cost, Way(cost, is_by_id=True)),
        (wanted.platform, Way("by_platform", wanted.platform)),
    )
    return next((way for is_asked, way in ways if is_asked), Way("by_time"))


class SqlMessages:
    """Implements `ports.messages.MessageLister`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def page(self, wanted: MessageFilter, *, before: str | None, limit: int) -> MessagePage:
        """Return messages before a place, or the newest ones."""
        way = way_of(wanted)
        start = None if before is None else _read_place(before, way)
        bounds = await self._engine.reads.look(lambda db: _bounds(db, wanted))
        if bounds is None:
            return MessagePage()
        place, floor = bounds.stop[way.is_by_id], bounds.first[way.is_by_id]
        if start is not None:
            place = min(start, place)
        return await self._walk(wanted, way, place=place, floor=floor, limit=limit)

    async def graph_of(self, message_id: str) -> str | None:
        """Return the name of the graph that the turn of a message is in."""
        row = await self._engine.reads.row(_SQL["conversation"], message_id)
        return None if row is None else graph_name(str(row[0]), int(row[1]))

    async def _walk(
        self, wanted: MessageFilter, way: Way, *, place: Place, floor: Place, limit: int
    ) -> MessagePage:
        found: list[tuple[Place, MessageLine]] = []
        looked, size, reads = 0, limit + 1, self._engine.reads
        while looked < _MOST_LOOKED_AT:
            keys = await reads.rows(_SQL[way.query], way.value, place, floor, size)
            if keys:
                fitting = await self._fitting(wanted, [row[0] for row in keys if row[0]])
                kept = ((row[way.is_by_id], fitting.get(row[0])) for row in keys)
                found += [(key, line) for key, line in kept if line is not None]
                place = keys[-1][way.is_by_id]
            if len(found) > limit:
                lines = tuple(line for _, line in found[:limit])
                return MessagePage(messages=lines, next=_place_text(found[limit - 1][0]))
            if len(keys) < size:
                return MessagePage(messages=tuple(line for _, line in found))
            looked, size = looked + len(keys), _AT_ONCE
            await asyncio.sleep(0)
        return MessagePage(
            messages=tuple(line for _, line in found),
            next=_place_text(place),
            searched_to=await reads.look(lambda db: _time_of(db, keys)),
        )

    async def _fitting(self, wanted: MessageFilter, numbers: list[int]) -> dict[int, MessageLine]:
        rows = await self._engine.reads.rows(
            _SQL["lines"],
            encode(numbers).decode(),
            wanted.person_id,
            wanted.platform,
            wanted.agent,
            wanted.model,
            wanted.outcome or "",
            wanted.least_usd,
            wanted.since,
            wanted.until,
        )
        return {row[0]: _line(row) for row in rows}


def _bounds(db: Rows, wanted: MessageFilter) -> WalkBounds | None:
    """Return where the times of a filter begin and end; None if there are no such messages."""
    last = db.row(_SQL["last"])
    since, until = wanted.since, wanted.until
    first = _first_since(db, None if since is None else since - _SLACK_S, last=last)
    if last is None or first is None:
        return None
    stop = None if until is None else _first_since(db, until + _SLACK_S, last=last)
    return WalkBounds(first, stop or (_LAST_SEQ, _LAST_ID))


# Any: SQLite's values.
def _first_since(
    db: Rows, at: float | None, *, last: tuple[Any, ...] | None
) -> tuple[int, str] | None:
    """Return the first message that is not older than a time: numbers ascend as times do."""
    low, high = 0, 0 if last is None or at is None else int(last[0]) + 1
    while low < high:
        middle = (low + high) // 2
        row = db.row(_SQL["first_from"], (middle,))
        if row is None or row[1] >= at:
            high = middle
        else:
            low = row[0] + 1
    row = db.row(_SQL["first_from"], (low,))
    return None if row is None else (row[0], row[2])


def _time_of(db: Rows, keys: list[tuple[Any, ...]]) -> float | None:
    """Return when the last of some messages that is not forgotten came in."""
    numbers = [row[0] for row in keys if row[0] is not None]
    row = db.row(_SQL["first_from"], (numbers[-1],)) if numbers else None
    return None if row is None else float(row[1])


def _place_text(place: Place) -> str:
    return f"n.{place}" if isinstance(place, int) else f"i.{place}"


def _read_place(text: str, way: Way) -> Place:
    kind, _, place = text[:80].partition(".")
    if way.is_by_id and kind == "i" and place:
        return place
    if not way.is_by_id and kind == "n" and place.isascii() and place.isdecimal():
        return min(int(place), _LAST_SEQ)
    raise BadRequest(
        f"before={text[:80]!r} is no place in this list: use the `next` of a page with the same "
        "filter, or leave it out to begin with the newest message."
    )


# Any: as above, in the order of the columns of `lines`.
def _line(row: tuple[Any, ...]) -> MessageLine:
    has_price = row[13] is not None and not row[14]
    return MessageLine(
        id=row[1],
        at=row[2],
        person_id=row[3],
        platform=row[4],
        lane=row[5],
        state=MessageState(row[6]),
        outcome=row[7],
        done_at=row[8],
        agent=row[9],
        model=row[10],
        tokens_in=row[11] or 0,
        tokens_out=row[12] or 0,
        cost_usd=row[13] if has_price else None,
    )
