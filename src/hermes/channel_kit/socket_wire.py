"""What a channel knows of its platform's socket: what each frame means, and which it sends.

Between a channel, which implements `SocketWire`, and `socket_session.py`, which uses it.
"""

from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

import msgspec

Meaning = Literal[
    "hello", "ready", "event", "beat", "alive", "renew", "invalid", "answer", "final", "other"
]


class SocketFrame(msgspec.Struct, frozen=True, kw_only=True):
    """What one frame of a platform means.

    `hello`: the greeting, with a heartbeat due `every_s`. `ready`: the session has begun, with its
    `id` and the `address` at which it is resumed, or (without an id) it goes on. `event`: something
    happened; `id` names it if it is acknowledged, `number` is its place in the session. `beat`: a
    heartbeat is wanted at once; `alive`: ours was answered. `renew`: the connection ends soon.
    `invalid`: the session is over, or only this connection if it `can_resume`. `answer`: to the
    request `id`. `final`: the platform ends it for good; `hint` says what the operator does.
    """

    meaning: Meaning
    id: str = ""
    number: int | None = None
    address: str = ""
    every_s: float = 0.0
    can_resume: bool = False
    hint: str = ""
    payload: bytes = b""


class SocketMark(msgspec.Struct, frozen=True, kw_only=True):
    """A session as it is stored; `number` is that of the last event before which all are kept.

    `likeness` is what the session was begun with (an account, intents): another begins a new one.
    """

    id: str
    address: str
    number: int
    likeness: str = ""


class SocketWire(Protocol):
    """What a channel knows of its platform's socket."""

    @property
    def likeness(self) -> str:
        """What a session depends on: with another value the stored one is not resumed."""
        ...

    async def address(self, mark: SocketMark | None) -> str:
        """Return where to connect, checked: the mark's own address, a ticket, the platform's."""
        ...

    def read(self, data: bytes) -> SocketFrame:
        """Return what a frame means; raises `BadRequest` for one that cannot be read."""
        ...

    def begin(self, mark: SocketMark | None) -> str | None:
        """Return the frame that resumes the session of the mark or begins one; None if none does."""
        ...

    def beat(self, number: int | None) -> str:
        """Return a heartbeat; `number` is that of the last event."""
        ...

    def kept(self, frame: SocketFrame) -> str | None:
        """Return the frame that acknowledges an event; None if the platform wants none."""
        ...


# Takes an event: True if it is kept or refused for good, False if it must come again. What is raised
# as `Refused` is refused for good, too.
Take = Callable[[SocketFrame], Awaitable[bool]]


class SocketPosition:
    """The events of one session that are not kept yet, and what that makes of its number."""

    def __init__(self, number: int) -> None:
        self._open: dict[int, None] = {}
        self._highest = number

    def begin(self, number: int) -> None:
        """Note an event that has come."""
        self._open[number] = None
        self._highest = max(self._highest, number)

    def end(self, number: int) -> None:
        """Note an event that is kept."""
        self._open.pop(number, None)

    @property
    def number(self) -> int:
        """The number of the last event before which all are kept, itself included."""
        return min(self._open) - 1 if self._open else self._highest
