"""Sends the lines of one delivery after another, and learns their outcome from the server.

"Sent" means that the server has processed the lines: it answers each of them by its label or,
without labels, answers a PING that was sent after them. Between `channel.py`, which asks, and
`session.py`, which passes in the server's lines.
"""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Final

from hermes.contrib.irc.inbound import IrcIdentity
from hermes.contrib.irc.line_rate import LineRate
from hermes.contrib.irc.outbound import REFUSALS, IrcMessage, is_about, refusal_of
from hermes.contrib.irc.wire import IrcLine, write_line
from hermes.errors import (
    ConnectFailed,
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
)

# How long a delivery waits for earlier ones, and how long its lines may take to be sent; otherwise
# it is sent later. Together with the answer they take less time than the outbox allows for a send.
_TURN_S: Final = 1.0
_LEAVE_S: Final = 5.0
Write = Callable[[bytes], Awaitable[None]]


class _Pending:
    """The lines that were written and the server's answers to them."""

    def __init__(self, letter: IrcMessage) -> None:
        self.target = letter.target
        self.written = 0
        self.labels: set[str] = set()
        self.token = ""
        self.ids: list[str] = []
        self.refusals: list[DeliveryError] = []
        self.is_ended = False
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settle(self) -> None:
        """Wake the waiter if nothing more is expected."""
        if self.is_ended and not self.labels and not self.token and not self.answered.done():
            self.answered.set_result(None)


class Sender:
    """The sends of one connection, one at a time."""

    def __init__(self, write: Write, *, pace: LineRate, answer_s: float, has_labels: bool) -> None:
        self._write = write
        self._pace = pace
        self._answer_s = answer_s
        self.has_labels = has_labels
        self._turn = asyncio.Lock()
        self._numbers = count(1)
        self._pending: _Pending | None = None
        self._batches: dict[str, str] = {}
        self._gone: ConnectFailed | None = None

    async def send(self, letter: IrcMessage) -> str | None:
        """Send the lines; return the server's id of the first, if it gives ids.

        Raise `NotDelivered` if nothing was written yet, and `DeliveryUnknown` after that.
        """
        try:
            async with asyncio.timeout(_TURN_S):
                await self._turn.acquire()
        except TimeoutError:
            raise _too_fast(2 * _TURN_S) from None
        try:
            takes_s = self._pace.time_for(len(letter.payloads))
            if takes_s > _LEAVE_S:
                raise _too_fast(takes_s - _LEAVE_S)
            pending = self._pending = _Pending(letter)
            await self._write_all(letter, pending)
            await self._answer(pending)
            return self._outcome(pending)
        finally:
            self._pending = None
            self._turn.release()

    async def _write_all(self, letter: IrcMessage, pending: _Pending) -> None:
        for payload in letter.payloads:
            await self._pace.take()
            if pending.refusals:
                break
            if self._gone is not None:
                raise self._lost(pending, self._gone)
            label = f"h{next(self._numbers)}" if self.has_labels else ""
            if label:
                pending.labels.add(label)
            pending.written += 1
            try:
                await self._write(write_line("PRIVMSG", letter.target, payload, label=label))
            except ConnectFailed as error:
                raise self._lost(pending, error) from error
        if not self.has_labels:
            pending.token = f"sent-{next(self._numbers)}"
            try:
                await self._write(write_line("PING", pending.token))
            except ConnectFailed as error:
                raise self._lost(pending, error) from error
        pending.is_ended = True
        pending.settle()

    async def _answer(self, pending: _Pending) -> None:
        if self._gone is not None:
            raise self._lost(pending, self._gone)
        try:
            async with asyncio.timeout(self._answer_s):
                await pending.answered
        except ConnectFailed as error:
            raise self._lost(pending, error) from error
        except TimeoutError:
            raise DeliveryUnknown(
                f"irc: the server has not answered within {self._answer_s:g} s; the message may "
                "have arrived",
                FailureClass.NETWORK_TIMEOUT,
            ) from None

    def _lost(self, pending: _Pending, error: ConnectFailed) -> DeliveryError:
        if pending.written == 0:
            return NotDelivered(f"{error}; nothing was sent", FailureClass.SERVICE_UNAVAILABLE)
        return DeliveryUnknown(
            f"{error}; the message may have arrived", FailureClass.NETWORK_TIMEOUT
        )

    def _outcome(self, pending: _Pending) -> str | None:
        if not pending.refusals:
            return pending.ids[0] if pending.ids else None
        first = pending.refusals[0]
        if len(pending.refusals) < pending.written and not isinstance(first, DeliveryRejected):
            raise DeliveryUnknown(f"{first}; some of its lines have arrived", first.failure)
        raise first

    def gone(self, error: ConnectFailed) -> None:
        """Record that the connection is lost."""
        self._gone = error
        pending = self._pending
        if pending is not None and not pending.answered.done():
            pending.answered.set_exception(error)
            # A send that is still writing asks for it later, or not at all.
            pending.answered.exception()

    def heard(self, line: IrcLine, me: IrcIdentity) -> None:
        """Process a line of the server that may be about the current send."""
        label = self._label_of(line)
        pending = self._pending
        if pending is None:
            return
        if line.command == "PONG" and line.last == pending.token:
            pending.token = ""
        elif self._is_echo(line, me, pending):
            pending.ids += [line.tags["msgid"]] if line.tags.get("msgid") else []
        elif (line.command in REFUSALS or line.command == "FAIL") and self._is_ours(
            line, me, label=label
        ):
            pending.refusals.append(refusal_of(line, pending.target))
        is_batched = "batch" in line.tags or (line.command == "BATCH" and line.at(0)[:1] == "+")
        if label and not is_batched:
            pending.labels.discard(label)
        pending.settle()

    def _is_echo(self, line: IrcLine, me: IrcIdentity, pending: _Pending) -> bool:
        return line.command == "PRIVMSG" and me.is_me(line.nick) and is_about_target(line, pending)

    def _is_ours(self, line: IrcLine, me: IrcIdentity, *, label: str) -> bool:
        pending = self._pending
        if pending is None:
            return False
        return label in pending.labels if label else is_about(line, pending.target, me)

    def _label_of(self, line: IrcLine) -> str:
        """Return the label of a line, its own or that of its batch."""
        own = line.tags.get("label", "")
        if line.command != "BATCH":
            return own or self._batches.get(line.tags.get("batch", ""), "")
        name = line.at(0)[1:]
        if line.at(0).startswith("-"):
            return self._batches.pop(name, "")
        if own:
            self._batches[name] = own
        return own


def _too_fast(wait_s: float) -> NotDelivered:
    return NotDelivered(
        "irc: earlier replies are still being sent, line by line; it will be sent later",
        FailureClass.RATE_LIMITED,
        retry_after=wait_s,
        platform_wide=True,
    )


def is_about_target(line: IrcLine, pending: _Pending) -> bool:
    """Return whether an echo is of a message to the current target."""
    return line.at(0).lower() == pending.target.lower()
