"""A branch as a list of message dicts: everything that a list can do, and nothing else.

Each change becomes one edit of the branch's history. Input is frozen first, so a refused message
changes nothing; the output is views that write through, or plain data.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence
from threading import RLock
from typing import Any, Self, overload

from hermes.errors import BadRequest
from hermes.graph.blob import Blob, Message, freeze
from hermes.graph.context import place_of, plain, same_messages
from hermes.graph.hasher import Hasher
from hermes.graph.history import History
from hermes.graph.lock import one_at_a_time
from hermes.graph.message_view import MessageView, Views
from hermes.graph.records import EditKind
from hermes.graph.sequence import Sequence
from hermes.graph.tool_groups import check_results

_WINDOW = 64


class MessageList(MutableSequence[Message]):
    """The messages of one branch, live."""

    __slots__ = ("__weakref__", "_history", "_views")

    def __init__(self, history: History) -> None:
        self._history = history
        self._views = Views(self, history)

    @property
    def lock(self) -> RLock:
        """The lock of every change, shared by all branches; hold it to group several changes."""
        return self._history.family.lock

    @property
    def sequence(self) -> Sequence:
        """The current messages, immutable."""
        return self._history.sequence

    def to_list(self) -> list[Message]:
        """Return the messages as plain data that belongs to the caller."""
        return plain(self.sequence)

    def copy(self) -> list[Message]:
        """Return the messages as plain data that belongs to the caller."""
        return self.to_list()

    def __len__(self) -> int:
        return self._history.versions[-1].length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    @one_at_a_time
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return [self._view(one) for one in range(*index.indices(len(self)))]
        return self._view(place_of(index, len(self)))

    def __iter__(self) -> Iterator[Message]:
        index = 0
        # The list may change during iteration; iteration continues at the same index.
        while index < len(self):
            number = self._history.number
            for blob in self.sequence.blobs(index):
                yield self._views.of(blob, index)
                index += 1
                if self._history.number != number:
                    break

    def __contains__(self, message: object) -> bool:
        return any(blob.message() == message for blob in self.sequence.blobs())

    def __eq__(self, other: object) -> bool:
        found = same_messages(self.sequence, other)
        return NotImplemented if found is None else found

    __hash__ = None  # type: ignore[assignment]  # Not hashable, as a list.

    def __add__(self, others: Iterable[Message]) -> list[Message]:
        return [*self.to_list(), *others]

    def __radd__(self, others: Iterable[Message]) -> list[Message]:
        return [*others, *self.to_list()]

    def __mul__(self, times: int) -> list[Message]:
        return [message for _ in range(times) for message in self.to_list()]

    __rmul__ = __mul__

    @overload
    def __setitem__(self, index: int, value: Mapping[str, Any]) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[Mapping[str, Any]]) -> None: ...
    @one_at_a_time
    def __setitem__(self, index: int | slice, value: Any) -> None:  # Any: see the overloads
        if isinstance(index, slice):
            self._set_slice(index, value)
            return
        place = place_of(index, len(self))
        self._history.change(place, place + 1, self._frozen((value,), place), kind="set")

    @one_at_a_time
    def __delitem__(self, index: int | slice) -> None:
        if not isinstance(index, slice):
            place = place_of(index, len(self))
            self._history.change(place, place + 1, (), kind="delete")
            return
        gone = range(*index.indices(len(self)))
        if not gone:
            return
        start, stop = min(gone), max(gone) + 1
        kept = (
            enumerate(self.sequence.blobs(start, stop), start) if len(gone) < stop - start else ()
        )
        left = [blob for at, blob in kept if at not in gone]
        self._history.change(start, stop, left, kind="delete")

    @one_at_a_time
    def append(self, value: Mapping[str, Any]) -> None:
        """Add one message."""
        self._add(len(self), (value,), kind="append")

    @one_at_a_time
    def extend(self, values: Iterable[Mapping[str, Any]]) -> None:
        """Add messages, as one version."""
        self._add(len(self), values, kind="append")

    def system(self, content: Any) -> Message:
        """Add a system message; `content` is a text or a list of parts."""
        return self._say({"role": "system", "content": content})

    def user(self, content: Any) -> Message:
        """Add a message of a person."""
        return self._say({"role": "user", "content": content})

    def assistant(self, content: Any) -> Message:
        """Add an answer that no recorded call wrote; `record_call()` adds those of a model."""
        return self._say({"role": "assistant", "content": content})

    def tool(self, tool_call_id: str, content: Any) -> Message:
        """Add the result of a tool call."""
        return self._say({"role": "tool", "tool_call_id": tool_call_id, "content": content})

    @one_at_a_time
    def insert(self, index: int, value: Mapping[str, Any]) -> None:
        """Add one message before `index`."""
        place, _, _ = slice(index, None).indices(len(self))
        self._add(place, (value,), kind="insert" if place < len(self) else "append")

    def __iadd__(self, values: Iterable[Mapping[str, Any]]) -> Self:
        self.extend(values)
        return self

    @one_at_a_time
    def __imul__(self, times: int) -> Self:
        if times < 1:
            self.clear()
        else:
            more = [Blob(blob.id, blob.data) for blob in self.sequence.blobs()] * (times - 1)
            again = (Blob(blob.id, blob.data) for blob in more)
            self._history.change(len(self), len(self), again, kind="append")
        return self

    @one_at_a_time
    def pop(self, index: int = -1) -> Message:
        """Remove a message and return it as plain data."""
        if not self:
            raise IndexError("pop from a conversation without messages")
        place = place_of(index, len(self))
        message = self.sequence.blob(place).message()
        del self[place]
        return message

    @one_at_a_time
    def remove(self, value: object) -> None:
        """Remove the first message that equals `value`."""
        del self[self.index(value)]

    @one_at_a_time
    def clear(self) -> None:
        """Remove all messages; earlier versions stay."""
        self._history.change(0, len(self), (), kind="delete")

    @one_at_a_time
    def reverse(self) -> None:
        """Reverse the order."""
        self._history.change(0, len(self), [*self.sequence.blobs()][::-1], kind="replace")

    @one_at_a_time
    def sort(self, *, key: Callable[[Message], Any], reverse: bool = False) -> None:
        """Sort in place; messages have no order of their own, so `key` is needed."""
        blobs = sorted(self.sequence.blobs(), key=lambda b: key(b.message()), reverse=reverse)
        self._history.change(0, len(self), blobs, kind="replace")

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Return the index of the first message that equals `value`."""
        start, stop, _ = slice(start, stop).indices(len(self))
        for place, blob in enumerate(self.sequence.blobs(start, max(start, stop)), start):
            if blob.message() == value:
                return place
        raise ValueError(f"{value!r} is not among the messages {start} to {stop}")

    def count(self, value: object) -> int:
        """Return how many messages equal `value`."""
        return sum(blob.message() == value for blob in self.sequence.blobs())

    @one_at_a_time
    def rewrite(self, view: MessageView) -> None:
        """Store the current content of a view; the view calls this when it is written to."""
        index = self._views.locate(view)
        if index is None:
            return
        (blob,) = self._frozen((view,), index)
        if self._history.change(index, index + 1, (blob,), kind="set"):
            self._views.moved(view, blob)

    def _view(self, index: int) -> MessageView:
        return self._views.of(self.sequence.blob(index), index)

    @one_at_a_time
    def _say(self, message: Message) -> Message:
        self.append(message)
        return self._view(len(self) - 1)

    def _add(self, place: int, values: Iterable[Mapping[str, Any]], *, kind: EditKind) -> None:
        self._history.change(place, place, self._frozen(values, place), kind=kind)

    def _set_slice(self, index: slice, values: Iterable[Mapping[str, Any]]) -> None:
        start, stop, step = index.indices(len(self))
        if step == 1:
            stop = max(start, stop)
            self._history.change(start, stop, self._frozen(values, start), kind="replace")
            return
        places, new = range(start, stop, step), list(values)
        if len(places) != len(new):
            raise ValueError(
                f"a slice with a step of {step} has {len(places)} messages here, {len(new)} given"
            )
        if places:
            first, last = min(places), max(places) + 1
            blobs = list(self.sequence.blobs(first, last))
            for place, blob in zip(places, self._frozen(new, first), strict=True):
                blobs[place - first] = blob
            self._history.change(first, last, blobs, kind="replace")

    def _frozen(self, values: Iterable[Mapping[str, Any]], place: int) -> list[Blob]:
        return freeze_all(values, self._history.family.reader.hasher, self._backwards(place))

    def _backwards(self, place: int) -> Iterator[Blob]:
        for stop in range(place, 0, -_WINDOW):
            yield from reversed([*self.sequence.blobs(max(0, stop - _WINDOW), stop)])


def freeze_all(
    values: Iterable[Mapping[str, Any]], hasher: Hasher, earlier: Iterable[Blob] = ()
) -> list[Blob]:
    """Return messages as blobs; `earlier` are the messages before them, latest first."""
    if isinstance(values, str | bytes | Mapping):
        raise BadRequest(
            f"Expected a list of message dicts, found type {type(values).__name__}. "
            "Put a single message into a list, or use append()."
        )
    messages = list(values)
    blobs = [freeze(message, hasher) for message in messages]
    check_results(messages, earlier)
    return blobs
