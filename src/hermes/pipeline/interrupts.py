"""Stopping a running turn: only where it waits for a model or a tool that can be cancelled."""

import asyncio
from types import TracebackType

from hermes.errors import TurnInterrupted


class Interrupt:
    """The stop switch of one turn; pressing it takes effect inside `scope` and at `check`."""

    def __init__(self) -> None:
        self.by: str | None = None
        self._scopes: list[_Scope] = []

    def press(self, by: str) -> None:
        """Ask the turn to end; `by` is the id of the message that asked."""
        if self.by is not None:
            return
        self.by = by
        for scope in self._scopes:
            scope.cancel()

    def check(self) -> None:
        """Raise `TurnInterrupted` if the switch was pressed."""
        if self.by is not None:
            raise TurnInterrupted(f"stopped by {self.by}")

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
