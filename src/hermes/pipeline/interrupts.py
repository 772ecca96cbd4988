"""Stopping a running turn: only where it waits for a model or a tool that can be cancelled."""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final

from hermes.config import Settings
from hermes.errors import TurnInterrupted
from hermes.ports.tool import Tool

# Who stops a turn that has run for too long.
TIME_LIMIT: Final = "turns.limit_s"
_LOOK_AGAIN_S: Final = 1.0


class Arrivals:
    """What arrives while a turn still takes others in: it wakes the turn instead of stopping it.

    `stopping` are those that would have stopped it; the turn `is_after_stop` if its own message has
    stopped another, and people who do that have often more to say.
    """

    __slots__ = ("_news", "ids", "is_after_stop", "stopping")

    def __init__(self, *, is_after_stop: bool = False) -> None:
        self.ids: list[str] = []
        self.stopping: list[str] = []
        self.is_after_stop = is_after_stop
        self._news = asyncio.Event()

    def add(self, message_id: str, *, stops: bool) -> None:
        """Note one; `stops` says that it stops the turn unless it joins it."""
        self.ids.append(message_id)
        if stops:
            self.stopping.append(message_id)
        self._news.set()

    def clear(self) -> None:
        """Wait only for what arrives from now on."""
        self._news.clear()

    async def wait(self) -> None:
        """Return when another message has arrived."""
        await self._news.wait()


class Interrupt:
    """The stop switch of one turn; pressing it takes effect inside `scope` and at `check`."""

    def __init__(self) -> None:
        self.by: str | None = None
        self._scopes: list[_Scope] = []
        # There while other messages may join the turn.
        self.gathering: Arrivals | None = None
        # Those that have joined it: being part of the turn, they never stop it.
        self.joined: frozenset[str] = frozenset()
        # Until when a message that would stop the turn joins it, because nothing was shown yet.
        self.close_until: float | None = None
        # Whether one has arrived by then, and when the last one was sent that has joined.
        self.is_followed = False
        self.last_at = 0.0

    def press(self, by: str) -> None:
        """Ask the turn to end; `by` is the id of the message that asked."""
        if self.by is not None:
            return
        self.by = by
        for scope in self._scopes:
            scope.cancel()

    def follow(self, message_id: str, now: float) -> bool:
        """Let a message join the turn, whose model is asked again; false if it comes too late."""
        if self.close_until is None or now > self.close_until or self.by is not None:
            return False
        self.close_until = None
        self.is_followed = True
        self.gathering = Arrivals(is_after_stop=True)
        self.gathering.add(message_id, stops=True)
        for scope in self._scopes:
            scope.cancel()
        return True

    def check(self) -> None:
        """Raise `TurnInterrupted` if the switch was pressed, or a message is to join the turn."""
        if self.by is not None:
            raise TurnInterrupted(f"stopped by {self.by}")
        if self.is_followed:
            raise TurnInterrupted("a message follows that joins it")

    def scope(self) -> "_Scope":
        """Return a context in which pressing the switch cancels the awaiting task.

        It may be entered again and again, by one task.
        """
        return _Scope(self, self._scopes)


class _Scope:
    """Turns a cancellation that the switch caused into `TurnInterrupted`."""

    def __init__(self, interrupt: Interrupt, scopes: "list[_Scope]") -> None:
        self._interrupt = interrupt
        self._scopes = scopes
        self._task: asyncio.Task[object] | None = None
        self._cancelled = False

    def cancel(self) -> None:
        if self._task is not None and not self._cancelled:
            self._cancelled = True
            self._task.cancel()

    def __enter__(self) -> None:
        self._interrupt.check()
        if self._task is None:
            self._task = asyncio.current_task()
        self._scopes.append(self)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._scopes.remove(self)
        if not self._cancelled or self._task is None:
            return
        still_cancelling = self._task.uncancel() > 0
        if kind is asyncio.CancelledError and not still_cancelling:
            raise TurnInterrupted(f"stopped by {self._interrupt.by}") from None


class TimeLimit:
    """Stops a turn when it has worked for too long; 0 never does.

    `worked` is how long it has worked so far: waiting for others does not count. While it `is_held`
    by a question to a person, which has a limit of its own, it goes on.
    """

    def __init__(
        self,
        limit_s: float,
        *,
        worked: Callable[[], float],
        is_held: Callable[[], bool],
        stop: Callable[[], None],
    ) -> None:
        self._limit_s = limit_s
        self._worked = worked
        self._is_held = is_held
        self._stop = stop
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        if self._limit_s:
            self._look_in(self._limit_s)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look_in(self, delay_s: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._look)

    def _look(self) -> None:
        left_s = self._limit_s - self._worked()
        if left_s > 0:
            self._look_in(left_s)
        elif self._is_held():
            self._look_in(_LOOK_AGAIN_S)
        else:
            self._stop()


# The message a lane works on, and how many steps it has written and ended.
Mark = tuple[str, int, int]


class StuckTurns:
    """Remembers since when each lane has made no progress."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[Mark, float]] = {}

    def look(self, marks: Mapping[str, Mark], now: float, *, limit_s: float) -> list[str]:
        """Return the lanes that have made no progress for longer than the limit."""
        since = {
            lane: known if (known := self._since.get(lane)) and known[0] == mark else (mark, now)
            for lane, mark in marks.items()
        }
        self._since = since
        return [lane for lane, (_, at) in since.items() if now - at > limit_s]


def longest_step_s(settings: Settings, tools: Mapping[str, Tool]) -> float:
    """Return how long a single step may take: a model call with its waits, or a tool."""
    turns = settings.turns
    call_s = turns.call_wait_s + turns.wait_s + turns.call_limit_s
    return max(call_s, turns.tool_timeout_s, *(_limit_of(tool) for tool in tools.values()), 0.0)


def _limit_of(tool: Tool) -> float:
    return tool.traits.timeout_s or 0.0
