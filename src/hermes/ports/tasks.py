"""Tasks of callers over A2A: pages of them, and where their callers want to be notified.

A task is a message of the inbox; only the settings for notifications are rows of their own.
"""

from typing import Protocol

import msgspec

from hermes.message.outcome import MessageState, Outcome
from hermes.ports.gateway_api import MessageStatus


class TaskQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which tasks to return: those whose external ids begin with `caller`, newest change first.

    `words` are states of open messages and outcomes of ended ones; empty is all. `before` is the
    change and the number of the last task of another page.
    """

    caller: str
    context_id: str = ""
    words: tuple[str, ...] = ()
    since: float = 0.0
    before: tuple[float, int] | None = None
    limit: int


class TaskPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of tasks, how many there are, and where the next page begins."""

    tasks: tuple[MessageStatus, ...]
    total: int
    next: tuple[float, int] | None


class TaskPush(msgspec.Struct, frozen=True, kw_only=True):
    """Where a caller wants to be notified of a task, and with which credentials.

    `version` is that of the protocol in which they asked.
    """

    task_id: str
    id: str
    url: str
    version: str
    token: str = ""
    scheme: str = ""
    credentials: str = ""


class DuePush(msgspec.Struct, frozen=True, kw_only=True):
    """A notification that is due: what of, and how often it was tried.

    `news` is what its place does not know yet: the outcome, or the approval that the task waits for.
    """

    push: TaskPush
    state: MessageState
    outcome: Outcome | None
    news: str
    attempts: int

    @property
    def word(self) -> str:
        """The state of the task: the message's outcome, or that it is parked."""
        return self.state.value if self.outcome is None else self.outcome.value


class TaskStore(Protocol):
    """Tasks, and the settings for their notifications; those are sealed for their person."""

    async def page(self, query: TaskQuery) -> TaskPage:
        """Return tasks of a caller."""
        ...

    async def put_push(
        self, push: TaskPush, *, person_id: str, at: float, most: int, most_open: int
    ) -> None:
        """Store where to notify of a task; the same id is replaced, and is told again.

        Raises `TooLarge` over `most` of a task or `most_open` of a person.
        """
        ...

    async def pushes(self, task_id: str) -> tuple[TaskPush, ...]:
        """Return where to notify of a task."""
        ...

    async def drop_push(self, task_id: str, push_id: str) -> bool:
        """Delete one; false if there is none."""
        ...

    async def due_pushes(self, now: float, *, limit: int, each: int) -> tuple[DuePush, ...]:
        """Return notifications that are due, at most `each` of one person."""
        ...

    async def begin_push(self, due: DuePush, *, until: float) -> bool:
        """Take one for an attempt, until then; false if another process has taken it."""
        ...

    async def end_push(self, due: DuePush, *, is_last: bool, at: float, why: str = "") -> None:
        """Write that one was delivered, or given up for the reason `why`.

        A place that was replaced since its attempt began is told again.
        """
        ...

    async def retry_push(self, due: DuePush, *, at: float) -> None:
        """Write when one that failed is tried again."""
        ...
