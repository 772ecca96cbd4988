"""Binds the sealed values of an older database to their places; part of the rotation of its key.

In small transactions, so that messages continue meanwhile. Values that are bound already, and those
that do not open, stay as they are; so it can be cut off and repeated at any point.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from hermes.store.sql.engine import Engine
from hermes.store.sql.places import (
    DREAM_PLACE,
    Place,
    agent_place,
    blob_place,
    chat_place,
    event_place,
    fact_place,
    job_place,
    name_place,
    page_place,
    push_place,
    result_place,
    soul_place,
    state_place,
    story_place,
)
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Row, Tx

_SQL = load("sealed_tables")
_ROWS = 200
# Any: the key of a row, as its table has it.
_Key = tuple[Any, ...]


class _Table(NamedTuple):
    """A table with sealed values: how they are read and written, and the place of a row by its key."""

    read: str
    write: str
    start: _Key
    place: Callable[..., Place]


_TABLES = (
    _Table("blobs", "set_blobs", (-1,), blob_place),
    _Table("names", "set_names", ("", ""), name_place),
    _Table("facts", "set_facts", ("",), fact_place),
    _Table("pages", "set_pages", ("", "", -1), lambda _, model, number: page_place(model, number)),
    _Table("souls", "set_souls", ("", -1), soul_place),
    _Table("dreams", "set_dreams", ("",), lambda _: DREAM_PLACE),
    _Table("jobs", "set_jobs", ("",), job_place),
    _Table("stories", "set_stories", ("",), story_place),
    _Table("chats", "set_chats", ("", ""), chat_place),
    _Table("states", "set_states", ("", ""), state_place),
    _Table("agents", "set_agents", ("", -1), agent_place),
    _Table("pushes", "set_pushes", ("", ""), push_place),
)


async def bind_all(engine: Engine) -> int:
    """Bind every sealed value to its place; return how many were not."""
    # What messages said and how they ended first: the walk over all bodies finds them bound.
    done, after, count = 0, 0, _ROWS
    while count == _ROWS:
        unit = partial(_bind_messages, engine, after=after)
        count, after, bound = await engine.writer.run("reseal", unit)
        done += bound
    for table in _TABLES:
        key, count = table.start, _ROWS
        while count == _ROWS:
            rows = partial(_bind_rows, engine, table=table, after=key)
            count, key, bound = await engine.writer.run("reseal", rows)
            done += bound
    return done


async def _bind_messages(engine: Engine, tx: Tx, *, after: int) -> tuple[int, int, int]:
    """Bind the bodies of the next messages; return how many rows, the last, and how many bound."""
    rows = await tx.rows(_SQL["events"], after, _ROWS)
    bound = 0
    for seq, message_id, *bodies in rows:
        for body, place in ((bodies[:3], event_place), (bodies[3:], result_place)):
            bound += await _bind(engine, tx, body, write="set_blobs", place=place(message_id))
        after = seq
    return len(rows), after, bound


async def _bind_rows(
    engine: Engine, tx: Tx, *, table: _Table, after: _Key
) -> tuple[int, _Key, int]:
    """Bind the next values of a table; return how many rows, the last, and how many bound."""
    rows = await tx.rows(_SQL[table.read], *after, _ROWS)
    bound = 0
    for row in rows:
        after = row[:-2]
        bound += await _bind(engine, tx, row, write=table.write, place=table.place(*after))
    return len(rows), after, bound


async def _bind(engine: Engine, tx: Tx, row: Row | list[Any], *, write: str, place: Place) -> bool:
    """Bind one value; its row has its key, its owner and the value, or None for each."""
    *key, owner, sealed = row
    cipher = None if owner is None else await engine.sealer.cipher(tx, owner)
    bound = None if cipher is None or cipher.is_bound else cipher.bind(sealed, place)
    if bound is None:
        return False
    tx.put(_SQL[write], *key, bound, sealed)
    return True
