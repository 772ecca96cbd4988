"""Binds the sealed values of an older database to their places; part of the rotation of its key.

In small transactions, so that messages continue meanwhile. Values that are bound already, and those
that do not open, stay as they are; so it can be cut off and repeated at any point.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from hermes.store.sql.engine import Engine
from hermes.store.sql.places import (
    DREAM_PLACE,
    Place,
    blob_place,
    chat_place,
    event_place,
    fact_place,
    job_place,
    name_place,
    page_place,
    result_place,
    soul_place,
    state_place,
    story_place,
)
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Row, Tx

_SQL = load("resealing")
_ROWS = 200
# Any: the key of a row, as its table has it.
_Key = tuple[Any, ...]
# Each table: where its keys begin, and the place of a row by its key.
_TABLES: dict[str, tuple[_Key, Callable[..., Place]]] = {
    "blobs": ((-1,), blob_place),
    "names": (("", ""), name_place),
    "facts": (("",), fact_place),
    "pages": (("", "", -1), lambda _person, model, number: page_place(model, number)),
    "souls": (("", -1), soul_place),
    "dreams": (("",), lambda _person: DREAM_PLACE),
    "jobs": (("",), job_place),
    "stories": (("",), story_place),
    "chats": (("", ""), chat_place),
    "states": (("", ""), state_place),
}


async def bind_all(engine: Engine) -> int:
    """Bind every sealed value to its place; return how many were not."""
    # What messages said and how they ended first: the walk over all bodies finds them bound.
    done, after, count = 0, 0, _ROWS
    while count == _ROWS:
        unit = partial(_bind_messages, engine, after=after)
        count, after, bound = await engine.writer.run("reseal", unit)
        done += bound
    for table, (start, place) in _TABLES.items():
        key, count = start, _ROWS
        while count == _ROWS:
            unit_of = partial(_bind_rows, engine, table=table, after=key, place=place)
            count, key, bound = await engine.writer.run("reseal", unit_of)
            done += bound
    return done


async def _bind_messages(engine: Engine, tx: Tx, *, after: int) -> tuple[int, int, int]:
    """Bind the bodies of the next messages; return how many rows, the last, and how many bound."""
    rows = await tx.rows(_SQL["events"], after, _ROWS)
    bound = 0
    for seq, message_id, *bodies in rows:
        said, told = bodies[:3], bodies[3:]
        bound += await _bind(engine, tx, said, table="blobs", place=event_place(message_id))
        bound += await _bind(engine, tx, told, table="blobs", place=result_place(message_id))
        after = seq
    return len(rows), after, bound


async def _bind_rows(
    engine: Engine, tx: Tx, *, table: str, after: _Key, place: Callable[..., Place]
) -> tuple[int, _Key, int]:
    """Bind the next values of a table; return how many rows, the last, and how many bound."""
    rows = await tx.rows(_SQL[table], *after, _ROWS)
    bound = 0
    for row in rows:
        after = row[:-2]
        bound += await _bind(engine, tx, row, table=table, place=place(*after))
    return len(rows), after, bound


async def _bind(engine: Engine, tx: Tx, row: Row | list[Any], *, table: str, place: Place) -> bool:
    """Bind one value; its row has its key, its owner and the value, or None for each."""
    *key, owner, sealed = row
    cipher = None if owner is None else await engine.sealer.cipher(tx, owner)
    if cipher is None or cipher.is_bound:
        return False
    bound = cipher.bind(sealed, place)
    if bound is None:
        return False
    tx.put(_SQL[f"set_{table}"], *key, bound, sealed)
    return True
