"""Dicts and lists that notify their message when they are written to, at any depth.

They are real dicts and lists, so every library accepts them. A write is tried, the whole message is
frozen again, and if that is refused the write is undone. Input is copied; copies and pickles are
plain data without a link to the graph.
"""

# Items are whatever JSON holds, so Any is their type throughout this file; and the methods take
# their arguments through as they come, which mypy calls another signature than the builtins'.
# mypy: disable-error-code="override, misc"

from contextlib import AbstractContextManager
from typing import Any, Protocol, SupportsIndex

from hermes.errors import HermesError
from hermes.graph.blob import detached


class ValueOwner(Protocol):
    """The message that a container is part of."""

    def _written(self) -> None:
        """Freeze the message again; raises if it is refused."""

    def _guard(self) -> AbstractContextManager[Any]:
        """Keep other threads from writing meanwhile."""


class TrackedDict(dict[str, Any]):
    """A dict inside a message.

    Calling it as a type, as copies in other libraries do, returns plain data that belongs to the
    caller.
    """

    __slots__ = ("_owner",)
    _owner: ValueOwner

    def __new__(cls, *others: Any, **named: Any) -> Any:
        return _plain_dict(dict(*others, **named))

    def _written(self) -> None:
        self._owner._written()

    def _guard(self) -> AbstractContextManager[Any]:
        return self._owner._guard()

    def _tied(self, value: Any) -> Any:
        return tied(value, self._owner)

    def _write(self, operation: Any, *arguments: Any) -> Any:
        with self._guard():
            before, is_done = dict(self), False
            try:
                result = operation(self, *arguments)
                self._written()
                is_done = True
            finally:
                if not is_done:
                    dict.clear(self)
                    dict.update(self, before)
            return result

    def __setitem__(self, key: str, value: Any) -> None:
        self._write(dict.__setitem__, key, self._tied(value))

    def __delitem__(self, key: str) -> None:
        self._write(dict.__delitem__, key)

    def update(self, *others: Any, **named: Any) -> None:
        """Set the items of a dict or of pairs, in one write."""
        new = dict(*others, **named)
        self._write(dict.update, {key: self._tied(value) for key, value in new.items()})

    def __ior__(self, other: Any) -> "TrackedDict":
        self.update(other)
        return self

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of `key`, after setting it if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str, *default: Any) -> Any:
        """Remove `key` and return its value as plain data."""
        return plain(self._write(dict.pop, key, *default))

    def popitem(self) -> tuple[str, Any]:
        """Remove the last item and return it as plain data."""
        key, value = self._write(dict.popitem)
        return key, plain(value)

    def clear(self) -> None:
        """Remove all items."""
        self._write(dict.clear)

    def copy(self) -> dict[str, Any]:
        """Return plain data that belongs to the caller."""
        return _plain_dict(self)

    def __copy__(self) -> dict[str, Any]:
        return _plain_dict(self)

    def __deepcopy__(self, memo: Any) -> dict[str, Any]:
        return _plain_dict(self)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return dict, (_plain_dict(self),)


class TrackedList(list[Any]):
    """A list inside a message; calling it as a type returns plain data, too."""

    __slots__ = ("_owner",)
    _owner: ValueOwner

    def __new__(cls, *values: Any) -> Any:
        return _plain_list(list(*values))

    def _tied(self, value: Any) -> Any:
        return tied(value, self._owner)

    def _all_tied(self, values: Any) -> list[Any]:
        return [self._tied(value) for value in values]

    def _write(self, operation: Any, *arguments: Any, **options: Any) -> Any:
        with self._owner._guard():
            before, is_done = list(self), False
            try:
                result = operation(self, *arguments, **options)
                self._owner._written()
                is_done = True
            finally:
                if not is_done:
                    list.__setitem__(self, slice(None), before)
            return result

    def __setitem__(self, index: Any, value: Any) -> None:
        new = self._all_tied(value) if isinstance(index, slice) else self._tied(value)
        self._write(list.__setitem__, index, new)

    def __delitem__(self, index: Any) -> None:
        self._write(list.__delitem__, index)

    def append(self, value: Any) -> None:
        """Add one item."""
        self._write(list.append, self._tied(value))

    def extend(self, values: Any) -> None:
        """Add items, in one write."""
        self._write(list.extend, self._all_tied(values))

    def insert(self, index: SupportsIndex, value: Any) -> None:
        """Add one item before `index`."""
        self._write(list.insert, index, self._tied(value))

    def __iadd__(self, values: Any) -> "TrackedList":
        self.extend(values)
        return self

    def __imul__(self, times: SupportsIndex) -> "TrackedList":
        repeated = [plain(item) for item in self] * times
        self[:] = repeated
        return self

    def pop(self, index: SupportsIndex = -1) -> Any:
        """Remove an item and return it as plain data."""
        return plain(self._write(list.pop, index))

    def remove(self, value: Any) -> None:
        """Remove the first item that equals `value`."""
        self._write(list.remove, value)

    def clear(self) -> None:
        """Remove all items."""
        self._write(list.clear)

    def reverse(self) -> None:
        """Reverse the order."""
        self._write(list.reverse)

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        """Sort in place."""
        self._write(list.sort, key=key, reverse=reverse)

    def copy(self) -> list[Any]:
        """Return plain data that belongs to the caller."""
        return _plain_list(self)

    def __copy__(self) -> list[Any]:
        return _plain_list(self)

    def __deepcopy__(self, memo: Any) -> list[Any]:
        return _plain_list(self)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return list, (_plain_list(self),)


def tied(value: Any, owner: ValueOwner) -> Any:
    """Return a copy of a JSON value whose containers notify `owner` of writes.

    A value that cannot be in a message is returned unchanged: the message then refuses it and names
    the place.
    """
    if type(value) is str or value is None:
        return value
    try:
        return tie(detached(value), owner)
    except HermesError:
        return value


def tie(value: Any, owner: ValueOwner) -> Any:
    """Convert plain data that nobody else holds into containers that notify `owner` of writes."""
    if type(value) is dict:
        made = dict.__new__(TrackedDict)
        dict.update(made, {key: tie(item, owner) for key, item in value.items()})
        made._owner = owner
        return made
    if type(value) is list:
        listed = list.__new__(TrackedList)
        list.extend(listed, [tie(item, owner) for item in value])
        listed._owner = owner
        return listed
    return value


def plain(value: Any) -> Any:
    """Return a value as plain data that shares nothing with it."""
    if isinstance(value, dict):
        return _plain_dict(value)
    if isinstance(value, list):
        return _plain_list(value)
    return value


def _plain_dict(found: dict[str, Any]) -> dict[str, Any]:
    return {key: plain(value) for key, value in found.items()}


def _plain_list(found: list[Any]) -> list[Any]:
    return [plain(value) for value in found]
