"""A context: messages as they were at one moment, read-only; what a model call sees.

It reads like a list of dicts that cannot be written to; `to_list()` returns plain data that belongs
to the caller.
"""

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Many
from contextlib import AbstractContextManager, nullcontext
from itertools import zip_longest
from operator import index as as_number
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, overload

from hermes.errors import BadRequest
from hermes.graph.blob import Blob, Message
from hermes.graph.sequence import Sequence
from hermes.graph.tracked_values import tie

_UNCHANGING = "These are the messages of a version or of a call, and they do not change."
_WRITE_INSTEAD = (
    "Write into the graph itself, as in graph[0]['content'] = ... or graph.append(...), or take "
    "to_list() for a copy of your own."
)
# What changes a graph, or a list.
_WRITERS = frozenset(
    {"append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort"}
    | {"system", "user", "assistant", "tool"}
)


class Context(Many[Message]):
    """Messages that never change, and which of them are in the branch they came from.

    First come `lead` additional messages, then messages `start` to `shared` of `version`.
    """

    __slots__ = ("lead", "sequence", "shared", "start", "version")

    def __init__(
        self,
        sequence: Sequence,
        *,
        version: int,
        shared: int | None = None,
        lead: int = 0,
        start: int = 0,
    ) -> None:
        self.sequence = sequence
        self.version = version
        self.shared = len(sequence) if shared is None else shared
        self.lead = lead
        self.start = start

    @property
    def root(self) -> bytes:
        """The name of this context."""
        return self.sequence.root

    def to_list(self) -> list[Message]:
        """Return the messages as plain data."""
        return plain(self.sequence)

    def __len__(self) -> int:
        return len(self.sequence)

    def __iter__(self) -> Iterator[Message]:
        return map(_past, self.sequence.blobs())

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        return _past(self.sequence.blob(place_of(index, len(self))))

    def __eq__(self, other: object) -> bool:
        found = same_messages(self.sequence, other)
        return NotImplemented if found is None else found

    __hash__ = None  # type: ignore[assignment]  # Not hashable, as a list: it is equal to lists.

    def __setitem__(self, index: int | slice, value: object) -> NoReturn:
        raise BadRequest(f"{_UNCHANGING} {_WRITE_INSTEAD}")

    def __delitem__(self, index: int | slice) -> NoReturn:
        raise BadRequest(f"{_UNCHANGING} {_WRITE_INSTEAD}")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            # An AttributeError, so that `hasattr` tells what is not there.
            if name in _WRITERS:
                raise AttributeError(f"{_UNCHANGING} There is no {name}() here. {_WRITE_INSTEAD}")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<Context {self.root.hex()[:12]} of {len(self)} messages>"


class _Past:
    """The owner of messages that were: it refuses every write into them."""

    def _written(self) -> NoReturn:
        raise BadRequest(
            f"This message belongs to the past or to a call, and does not change. {_WRITE_INSTEAD}"
        )

    def _guard(self) -> AbstractContextManager[Any]:
        return nullcontext()


_PAST = _Past()


def _past(blob: Blob) -> Message:
    message: Message = tie(blob.message(), _PAST)
    return message


def plain(sequence: Sequence) -> list[Message]:
    """Return the messages of a sequence as plain data."""
    return [blob.message() for blob in sequence.blobs()]


def place_of(index: SupportsIndex, length: int) -> int:
    """Return an index counted from 0; raises IndexError or TypeError like a list."""
    try:
        number = as_number(index)
    except TypeError as problem:
        raise TypeError(
            f"messages have numbers, as in h[0], and {index!r} is of type {type(index).__name__}; "
            "the keys of a message come second, as in h[0]['role']"
        ) from problem
    place = number + length if number < 0 else number
    if not 0 <= place < length:
        raise IndexError(f"message index {index} is out of range: there are {length} messages")
    return place


def same_messages(sequence: Sequence, other: object) -> bool | None:
    """Compare with another list of messages; None if `other` is not one."""
    theirs = getattr(other, "sequence", None)
    if isinstance(theirs, Sequence):
        if len(theirs) != len(sequence):
            return False
        if theirs.reader.hasher is sequence.reader.hasher and theirs.root == sequence.root:
            return True
        return _all_equal(sequence, (blob.message() for blob in theirs.blobs()))
    if isinstance(other, list):
        return len(other) == len(sequence) and _all_equal(sequence, other)
    return None


def _all_equal(sequence: Sequence, others: Iterable[object]) -> bool:
    pairs = zip_longest(sequence.blobs(), others)
    return all(mine is not None and mine.message() == other for mine, other in pairs)
