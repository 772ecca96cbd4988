"""Questions that running tools have put to people, and who may answer them.

One process's memory beside the durable rows. A question lives as long as the call that asked it: if
that is repeated after a restart, the question waits here until the tool asks again. Each chat has
one open question at a time; others wait until it is settled.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from hermes.message.event import MessageEvent
from hermes.ports.tool import Question
from hermes.sessions.commands import CommandBook
from hermes.tools.mcp.interview import Interview, InterviewStep

# Any: an answer, JSON values by name.
Answer = Mapping[str, Any] | None


def asker_of(event: MessageEvent) -> str:
    """Return who wrote an event, as approvals name people."""
    return event.source.sender_name


class OpenQuestion:
    """A question that a person has been shown; `tell` shows whoever watches what is asked now.

    An empty text tells them that it is settled.
    """

    def __init__(
        self,
        question_id: str,
        question: Question,
        *,
        message_id: str,
        lane: str,
        who: str,
        is_private: bool,
        may_wait: bool,
        tell: Callable[[str], None],
    ) -> None:
        self.id = question_id
        self.question = question
        self.message_id = message_id
        self.lane = lane
        self.who = who
        self.is_private = is_private
        self.may_wait = may_wait
        """Whether it outlives the process also when that is stopped, and its turn goes on later."""
        self.tell = tell
        self.heard: tuple[tuple[str, str], ...] = ()
        """The messages that were no whole answer yet, by id."""
        self.is_settled = False
        """Set when its row says how it ended."""
        self.limit: asyncio.TimerHandle | None = None
        """Ends it while no tool waits for it."""
        self.answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    @property
    def asking(self) -> str:
        """What is asked now, with how it is answered."""
        words = f"/approve {self.id} or /deny {self.id}"
        if self.question.deciders == "admins":
            return f"{self.question.text}\nAn admin decides: {words}."
        interview = Interview(self.question.text, self.question.schema)
        if self.question.deciders == "approvers" and not self.is_private:
            return f"{interview.opening} An admin may answer, too: {words}."
        return [interview.opening, *(interview.hear(text).say for _, text in self.heard)][-1]

    @property
    def is_yes_or_no(self) -> bool:
        """Whether a yes is an answer."""
        return Interview(self.question.text, self.question.schema).is_yes_or_no

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """The answers that can be pressed now: what their buttons show, and what they say."""
        if self.question.deciders == "admins":
            return (("Approve", f"/approve {self.id}"), ("Deny", f"/deny {self.id}"))
        interview = Interview(self.question.text, self.question.schema)
        for _, text in self.heard:
            interview.hear(text)
        return interview.options

    def hear(self, text: str) -> InterviewStep:
        """Return the next step after one more message; it counts once it is in `heard`."""
        interview = Interview(self.question.text, self.question.schema)
        for _, before in self.heard:
            interview.hear(before)
        return interview.hear(text)

    def settle(self, answer: Answer) -> None:
        """Let the tool go on."""
        if not self.answered.done():
            self.answered.set_result(answer)


class Questions:
    """The open questions of every chat; `can_answer` says whether a platform supports them."""

    def __init__(self, can_answer: Callable[[str], bool], commands: CommandBook) -> None:
        self.can_answer = can_answer
        self._commands = commands
        self.is_closed = False
        self.is_cut_off = False
        """Set when turns are cut off: their questions stay open, and the turns resume later."""
        self._is_leaving = False
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
            and question.question.deciders != "admins"
            and self._commands.read(text) is None
        )

    def at(self, lane: str) -> OpenQuestion | None:
        """Return the question that waits on a lane."""
        return self._open.get(lane)

    def decided(self, question_id: str, *, is_yes: bool) -> None:
        """Let a tool go on whose question somebody has decided who was not asked in its chat."""
        question = self.find(question_id)
        if question is not None:
            question.is_settled = True
            self.drop(question, {} if is_yes else None)

    def find(self, question_id: str) -> OpenQuestion | None:
        """Return an open question of any lane."""
        return next((one for one in self._open.values() if one.id == question_id), None)

    @asynccontextmanager
    async def place(self, lane: str, *, question_id: str = "") -> AsyncIterator[None]:
        """Wait for one's turn to ask in a chat; a question that is open there has its place."""
        opened = self._open.get(lane)
        if opened is not None and opened.id == question_id:
            yield
            return
        lock = self._turns.setdefault(lane, asyncio.Lock())
        self._waiting[lane] += 1
        try:
            async with lock:
                while (before := self._open.get(lane)) is not None and not self.is_closed:
                    await asyncio.wait({before.answered})
                yield
        finally:
            self._waiting[lane] -= 1
            if not self._waiting[lane]:
                del self._waiting[lane], self._turns[lane]

    def show(self, question: OpenQuestion) -> None:
        """Take answers to a question until it is dropped."""
        if question.limit is not None:
            question.limit.cancel()
        if not question.answered.done() and self._open.get(question.lane) is not question:
            self._open[question.lane] = question
            question.tell(question.asking)

    def reopen(self, question: OpenQuestion, *, left_s: float) -> None:
        """Take answers to a question whose tool will ask again, as long as it has time left."""
        self.show(question)
        question.limit = asyncio.get_running_loop().call_later(left_s, self.drop, question)

    def drop(self, question: OpenQuestion, answer: Answer = None) -> None:
        """Take no more answers to a question, and let its tool go on."""
        if self._open.get(question.lane) is not question:
            return
        del self._open[question.lane]
        if question.limit is not None:
            question.limit.cancel()
        question.tell("")
        question.settle(answer)

    def forget(self, message_id: str) -> None:
        """Drop what the tools of a turn have asked: it has ended."""
        for question in tuple(self._open.values()):
            if question.message_id == message_id:
                self.drop(question)

    def close(self) -> None:
        """Decline what is open and cannot wait: this process takes no more answers."""
        self.is_closed = True
        for question in self._open.values():
            if not question.may_wait:
                question.settle(None)

    def leave(self) -> frozenset[str]:
        """Let what may wait stay open from now on; return the messages whose turns go on later."""
        self._is_leaving = True
        return frozenset(one.message_id for one in self._open.values() if one.may_wait)

    def stays_open(self, question: OpenQuestion) -> bool:
        """Return whether a question whose turn is cut off now is answered later."""
        return self.is_cut_off or (self._is_leaving and question.may_wait)
