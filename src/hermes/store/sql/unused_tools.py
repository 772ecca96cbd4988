"""Removes the tools of calls that were pruned: they belong to no graph, so no graph takes them along.

In three steps, so that no transaction reads all calls. The tools are put aside, where reading still
finds them; a turn that uses some stores them again. Then all calls are read. At last those that a
call names come back, and the others are deleted. It can be cut off and repeated at any point.
"""

import msgspec

from hermes.errors import StoreError
from hermes.store.sql.engine import Engine
from hermes.store.sql.graph_rows import without_digest
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Tx

_SQL = load("pruning")
_CALLS_AT_ONCE = 500


class _CallTools(msgspec.Struct):
    tools: bytes | None = None


_decode = msgspec.msgpack.Decoder(_CallTools).decode


async def collect_tools(engine: Engine) -> int:
    """Delete the tools that no call refers to; return how many."""

    async def put_aside(tx: Tx) -> None:
        tx.put(_SQL["set_aside_tools"])

    await engine.writer.run("set_aside_tools", put_aside)
    used = await _used_tools(engine)

    async def settle(tx: Tx) -> int:
        aside = await tx.rows(_SQL["tools_aside"])
        kept = [row[0] for row in aside if row[1] in used]
        for body in kept:
            tx.put(_SQL["bring_back_tools"], body)
        tx.put(_SQL["drop_tools_aside"])
        return len(aside) - len(kept)

    return await engine.writer.run("collect_tools", settle)


async def _used_tools(engine: Engine) -> set[bytes]:
    used: set[bytes] = set()
    place: tuple[int, str, int] = (-1, "", -1)
    while True:
        rows = await engine.reads.rows(_SQL["calls_after"], *place, _CALLS_AT_ONCE)
        used.update(name for row in rows if (name := _tools_of(bytes(row[3]))) is not None)
        if len(rows) < _CALLS_AT_ONCE:
            return used
        place = (rows[-1][0], rows[-1][1], rows[-1][2])


def _tools_of(kept: bytes) -> bytes | None:
    try:
        return _decode(without_digest(kept)).tools
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise StoreError(
            "a model call in the database cannot be read, so it is unknown which tools it used. None was "
            "deleted; `hermes graph verify` lists what is damaged."
        ) from problem
