"""Reads a press of a button: which words it stands for, and whether this person may press it now.

A press becomes the message that the person could have written instead, and goes the same way. One that
does nothing becomes a message whose reply says why.
"""

from collections.abc import Awaitable, Callable

import msgspec

from hermes.config import ApprovalSettings
from hermes.errors import Forbidden
from hermes.message.event import MessageEvent, PressedChoice
from hermes.message.offer import Press
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.people.access import Admission
from hermes.ports.approvals import Approval
from hermes.ports.clock import Clock
from hermes.ports.offers import Offer
from hermes.ports.store import Store
from hermes.sessions.commands import CommandBook
from hermes.texts.say import words
from hermes.tools.approvers import ELSEWHERE, check_approver

_APPROVAL = "a_"
_GONE = words("These buttons no longer work. Please write instead.")
_LATE = words("That came too late: the time for an answer is over.")
_AGAIN = words("That was answered already.")
_OTHERS = words("Only the person who was asked may press this.")


class ReadPress(msgspec.Struct, frozen=True):
    """A press as a message, the answer that it uses up, and the lane of the conversation that asked."""

    event: MessageEvent
    press: Press | None = None
    lane: str | None = None


class Presses:
    """Knows what may be pressed."""

    def __init__(
        self,
        store: Store,
        *,
        admission: Callable[[MessageEvent], Awaitable[Admission]],
        may_use: Callable[[str, Source], bool],
        commands: CommandBook,
        approvals: ApprovalSettings,
        clock: Clock,
    ) -> None:
        self._store = store
        self._admission = admission
        self._may_use = may_use
        self._commands = commands
        self._approvals = approvals
        self._clock = clock

    async def read(self, event: MessageEvent, pressed: PressedChoice) -> ReadPress:
        """Return what a press says; of one that does nothing, a message that says why."""
        offer_id, _, number = pressed.value.rpartition(".")
        offer = await self._store.offers.get(offer_id) if offer_id else None
        says = None if offer is None else _answer_of(offer, number)
        if offer is None or says is None or not _is_there(offer, event.source):
            return _refused(event, pressed, _GONE)
        if not (await self._admission(event)).is_in:
            # The turn tells strangers how they are let in.
            return _refused(event, pressed, _OTHERS)
        await self._settle(offer, pressed)
        problem = await self._problem(offer, event.source)
        if problem is not None:
            return _refused(event, pressed, problem)
        said = msgspec.structs.replace(event, parts=(TextPart(says),), addressed=True)
        written = self._commands.read(says)
        if written is not None and not self._may_use(written.name, event.source):
            # The command itself refuses; somebody else may still press.
            return ReadPress(said)
        is_asked = offer.who == event.source.sender_name
        return ReadPress(said, Press(offer.id, int(number)), offer.lane if is_asked else None)

    async def _settle(self, offer: Offer, pressed: PressedChoice) -> None:
        """Note that a question is there although its call was lost: its button was pressed."""
        if offer.is_posted or not pressed.message_id:
            return
        await self._store.outbox.arrived(
            offer.delivery,
            platform=offer.platform,
            # Buttons are only under a question that is one message.
            chunk=0,
            is_fresh=offer.is_fresh,
            platform_message_id=pressed.message_id,
            at=self._clock.now(),
        )

    async def _problem(self, offer: Offer, source: Source) -> str | None:
        """Return why a person's press does nothing; None if it counts."""
        who = source.sender_name
        if offer.who and offer.who != who:
            return _OTHERS
        asked = None
        if offer.subject is not None:
            asked = await self._store.approvals.get(offer.subject)
            if asked is None:
                return _GONE
            forbidden = self._forbidden(asked, who)
            if forbidden is not None:
                return forbidden
        return self._ended(offer, asked)

    def _forbidden(self, asked: Approval, who: str) -> str | None:
        if not asked.id.startswith(_APPROVAL) and asked.chat_type != ELSEWHERE:
            return None
        try:
            check_approver(asked, who, settings=self._approvals)
        except Forbidden as error:
            return str(error)
        return None

    def _ended(self, offer: Offer, asked: Approval | None) -> str | None:
        if offer.chosen_by is not None:
            return _AGAIN
        state = "waiting" if asked is None else asked.state
        if state in ("approved", "denied"):
            return _AGAIN
        if state == "expired" or offer.expires_at <= self._clock.now():
            return _LATE
        return None


def _answer_of(offer: Offer, number: str) -> str | None:
    """Return the words of an answer, by its number as text."""
    says = offer.says or ()
    is_number = len(number) <= 3 and number.isascii() and number.isdecimal()
    return says[int(number)] if is_number and int(number) < len(says) else None


def _is_there(offer: Offer, source: Source) -> bool:
    """Return whether a press comes from the chat where the offer was made."""
    return (offer.platform, offer.chat_id) == (source.platform, source.chat_id)


def _refused(event: MessageEvent, pressed: PressedChoice, problem: str) -> ReadPress:
    told = msgspec.structs.replace(pressed, refusal=problem)
    return ReadPress(msgspec.structs.replace(event, parts=(), pressed=told, addressed=True))
