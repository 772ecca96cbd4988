"""Named places where a test can kill the process, beside every write and every wire call.

Disarmed (always, outside tests) a failpoint is one dictionary look-up. The store's writer and the
`outside` wrapper below are the only callers, so no write and no outside effect can lack one.
"""

import os
import signal
from collections.abc import Callable

Action = Callable[[str], None]

_armed: dict[str, Action] = {}
_everywhere: list[Action] = []


def hit(name: str) -> None:
    """Pass the failpoint `name`; acts only when it is armed."""
    if _everywhere:
        for action in _everywhere:
            action(name)
    if _armed:
        action_here = _armed.get(name)
        if action_here is not None:
            action_here(name)


class outside:  # noqa: N801  used as a function: async with outside("model.call")
    """Wrap one outside effect: a failpoint before it and one after it, also when it fails."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    async def __aenter__(self) -> None:
        hit(f"{self._name}.before")

    async def __aexit__(self, *_error: object) -> None:
        hit(f"{self._name}.after")


def arm(name: str, action: Action) -> None:
    """Run `action` whenever the failpoint `name` is passed."""
    _armed[name] = action


def watch(action: Action) -> None:
    """Run `action` at every failpoint; tests learn from it which ones a workload passes."""
    _everywhere.append(action)


def disarm() -> None:
    """Forget every armed failpoint."""
    _armed.clear()
    _everywhere.clear()


def die(_name: str) -> None:
    """End this process as a power switch would: no clean-up, no flush."""
    os.kill(os.getpid(), signal.SIGKILL)


def arm_from(text: str) -> None:
    """Arm kills from `name:nth` pairs separated by commas; `*:nth` counts every failpoint."""
    for pair in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, nth = pair.partition(":")
        action = _die_at(int(nth or "1"))
        if name == "*":
            watch(action)
        else:
            arm(name, action)


def _die_at(nth: int) -> Action:
    passed = 0

    def count(name: str) -> None:
        nonlocal passed
        passed += 1
        if passed == nth:
            die(name)

    return count
