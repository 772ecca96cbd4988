"""Questions that running tools have put to people, and who may answer them.

One process's memory beside the durable rows: a question lives as long as the tool that waits for
it. Each chat has one open question at a time; others wait until it is settled.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from hermes.message.event import MessageEvent
from hermes.sessions.commands import CommandBook
from hermes.tools.mcp.interview import Interview

# Any: an answer, JSON values by name.
Answer = Mapping[str, Any] | None


def asker_of(event: MessageEvent) -> str:
    """Return who wrote an event, as approvals name people."""
    return f"{event.source.platform}:{event.source.user_id}"


class OpenQuestion:
    """A question that a person has been shown."""

    def __init__(self, question_id: str, who: str, interview: Interview) -> None:
        self.id = question_id
        self.who = who
        self.interview = interview
        self.say: Callable[[str], None] = _nothing
        """Shows whoever watches what is asked now."""
        self.is_settled = False
        """Set when its row says how it ended."""
        self.answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def settle(self, answer: Answer) -> None:
        """Let the tool go on."""
        if not self.answered.done():
            self.answered.set_result(answer)


def _nothing(_text: str) -> None:
    """Nobody watches."""


class Questions:
    """The open questions of every chat; `can_answer` says whether a platform supports them."""

    def __init__(self, can_answer: Callable[[str], bool], commands: CommandBook) -> None:
        self.can_answer = can_answer
        self._commands = commands
        self.is_closed = False
        self._open: dict[str, OpenQuestion] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._waiting: Counter[str] = Counter()

    def expects(self, event: MessageEvent, lane: str) -> bool:
        """Return whether a message is the answer to the question that waits on a lane."""
        if not self._open:
            return False
        question = self._open.get(lane)
        text = event.text
        return (
            question is not None
            and not event.internal
            and bool(text.strip())
            and question.who == asker_of(event)
            and self._commands.read(text) is None
        )

    def at(self, lane: str) -> OpenQuestion | None:
        """Return the question that waits on a lane."""
        return self._open.get(lane)

    @asynccontextmanager
    async def place(self, lane: str) -> AsyncIterator[None]:
        """Wait for one's turn to ask in a chat."""
        lock = self._turns.setdefault(lane, asyncio.Lock())
        self._waiting[lane] += 1
        try:
            async with lock:
                yield
        finally:
            self._waiting[lane] -= 1
            if not self._waiting[lane]:
                del self._waiting[lane], self._turns[lane]

    @asynccontextmanager
    async def shown(self, lane: str, question: OpenQuestion) -> AsyncIterator[None]:
        """Take answers to a question meanwhile."""
        self._open[lane] = question
        try:
            yield
        finally:
            del self._open[lane]

    def close(self) -> None:
        """Decline what is open: this process takes no more answers."""
        self.is_closed = True
        for question in self._open.values():
            question.settle(None)
