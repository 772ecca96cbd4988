"""Allows one change of a graph at a time: threads that share a graph wait for each other."""

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Concatenate, ParamSpec, Protocol, TypeVar

_Result = TypeVar("_Result")
_Given = ParamSpec("_Given")


class Lockable(Protocol):
    """An object with the lock of its graph."""

    @property
    def lock(self) -> "RLock":
        """The lock that all branches of a graph share."""


_Self = TypeVar("_Self", bound=Lockable)


def one_at_a_time(
    method: Callable[Concatenate[_Self, _Given], _Result],
) -> Callable[Concatenate[_Self, _Given], _Result]:
    """Return a method that holds the lock of its graph while it runs."""

    @wraps(method)
    def locked(self: _Self, /, *given: _Given.args, **named: _Given.kwargs) -> _Result:
        with self.lock:
            return method(self, *given, **named)

    return locked
