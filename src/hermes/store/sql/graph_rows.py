"""Packs and unpacks a graph's moves, calls and links as rows with a keyed digest.

The digest also covers the position of a row. A row that was changed, moved or exchanged on disk is
detected when it is read, and nothing continues with it.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from hermes.errors import StoreError
from hermes.store.sql.seal import Sealer

_DIGEST = 20
_DOMAIN = b"hermes.graph.row"
_encode = msgspec.msgpack.Encoder().encode
_Row = TypeVar("_Row")
# SQLite's values: the other columns of the row, beside the packed part.
Beside = tuple[object, ...]


def without_digest(kept: bytes) -> bytes:
    """Return the packed part of a row, unchecked."""
    return kept[_DIGEST:]


class GraphRows:
    """Packs and unpacks the rows of the one graph `name`."""

    __slots__ = ("_name", "_sealer")

    def __init__(self, name: str, sealer: Sealer) -> None:
        self._name = name
        self._sealer = sealer

    def pack(self, kind: str, beside: Beside, value: msgspec.Struct) -> bytes:
        """Return the packed form of `value`; `beside` is everything else that the row says."""
        data = _encode(value)
        return self._digest(kind, beside, data) + data

    def unpack(
        self, kind: str, beside: Beside, kept: object, *, decode: Callable[[bytes], _Row]
    ) -> _Row:
        """Return what was packed; raises StoreError unless the whole row is unchanged."""
        if isinstance(kept, bytes):
            data = kept[_DIGEST:]
            if self._digest(kind, beside, data) == kept[:_DIGEST]:
                try:
                    return decode(data)
                except (msgspec.DecodeError, UnicodeDecodeError) as problem:
                    raise self._damaged(kind, beside, f"it cannot be read ({problem})") from problem
        raise self._damaged(kind, beside, "it was changed on disk")

    def moved(
        self,
        kind: str,
        beside: Beside,
        kept: bytes,
        *,
        to: "GraphRows",
        change: Callable[[bytes], bytes],
    ) -> bytes | None:
        """Return what was packed as a row of another graph, changed; None unless it is as it was written."""
        data = kept[_DIGEST:]
        if self._digest(kind, beside, data) != kept[:_DIGEST]:
            return None
        new = change(data)
        return to._digest(kind, beside, new) + new

    def _digest(self, kind: str, beside: Beside, data: bytes) -> bytes:
        return self._sealer.digest(_DOMAIN + _encode((kind, self._name, beside)) + data)

    def _damaged(self, kind: str, beside: Beside, why: str) -> StoreError:
        place = " ".join(str(one) for one in beside[:2])
        return StoreError(
            f"the {kind} {place} of graph {self._name!r} is not as it was written: {why}. "
            "`hermes graph verify` lists what is damaged; restore a backup with `hermes restore`."
        )
