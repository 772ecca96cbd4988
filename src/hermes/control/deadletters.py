"""Replies that were given up, or that wait for the operator's word because they may have arrived."""

import msgspec
import structlog

from hermes.control.pairing import Wake, wake_nobody
from hermes.control.why_answer import Hold, no_hold
from hermes.control.why_delivery import DeliveryTry, attempts_of, last_reason, tries_of
from hermes.errors import BadRequest, Conflict, NotFound
from hermes.message.parts import text_of
from hermes.ports.clock import Clock
from hermes.ports.ids import whole_id
from hermes.ports.outbox import DeliveryRecord
from hermes.ports.request_numbers import WholeNumber
from hermes.ports.store import Store

_log = structlog.get_logger(__name__)
MOST_LETTERS = 10_000


class LettersAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which replies, the newest first."""

    platform: str = ""
    limit: WholeNumber = 50


class LetterAsk(msgspec.Struct, frozen=True, kw_only=True):
    """Which reply."""

    id: str


class LetterOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An order about one reply."""

    id: str
    by: str = ""


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """A reply that is not sent; `state` is dead, or unknown where it may have arrived.

    `attempts` is how often it was sent, `reason` what the platform said last, `chunk` how many of its
    messages have arrived. The text and every try are there only when they are asked for, and the text
    not of a person who was erased.
    """

    id: str
    message_id: str
    person_id: str
    platform: str
    chat_id: str = ""
    thread_id: str | None = None
    state: str
    failure: str
    reason: str = ""
    purpose: str
    attempts: int
    chunk: int
    created_at: float
    text: str | None = None
    tries: tuple[DeliveryTry, ...] = ()


class LettersReport(msgspec.Struct, frozen=True, kw_only=True):
    """Replies that are not sent, the newest first."""

    letters: tuple[DeadLetter, ...] = ()


class LetterReport(msgspec.Struct, frozen=True, kw_only=True):
    """A reply before the order was carried out; `note` says what it waits for from now on."""

    letter: DeadLetter
    note: str = ""


class DeadLetterOperations:
    """Where operators' orders about such replies arrive."""

    def __init__(
        self, store: Store, *, clock: Clock, wake: Wake = wake_nobody, hold: Hold = no_hold
    ) -> None:
        self._store = store
        self._clock = clock
        self._wake = wake
        self._hold = hold

    async def list(self, ask: LettersAsk) -> LettersReport:
        """Return them, without what they say."""
        if not 1 <= ask.limit <= MOST_LETTERS:
            raise BadRequest(f"{ask.limit} replies: expected 1 to {MOST_LETTERS:,}.")
        records = await self._store.dead_letters.page(platform=ask.platform, limit=ask.limit)
        return LettersReport(letters=tuple(map(_letter, records)))

    async def show(self, ask: LetterAsk) -> LetterReport:
        """Return one of them, with what it says."""
        record = await self._get(ask.id)
        text = None if record.parts is None else text_of(record.parts)
        letter = msgspec.structs.replace(_letter(record), text=text, tries=tries_of(record))
        return LetterReport(letter=letter)

    async def replay(self, order: LetterOrder) -> LetterReport:
        """Send one again, as if it were new."""
        record = await self._get(order.id)
        if not await self._store.dead_letters.replay(record.id, at=self._clock.now()):
            raise Conflict(
                f"{record.id} cannot be sent again: its turn ended before there was a reply, or "
                "it was already sent again or dropped. `hermes deadletters list` shows what is left."
            )
        platform = record.target.platform
        self._wake(platform)
        _log.info("delivery_replayed", delivery=record.id, by=order.by)
        held = await self._hold(platform)
        note = "" if held is None else _later(platform, held)
        return LetterReport(letter=_letter(record), note=note)

    async def drop(self, order: LetterOrder) -> LetterReport:
        """Give one up for good; it stays in the story of its message."""
        record = await self._get(order.id)
        if not await self._store.dead_letters.drop(record.id, at=self._clock.now()):
            raise Conflict(f"{record.id} is no longer among those that are not sent.")
        _log.info("delivery_dropped", delivery=record.id, by=order.by)
        return LetterReport(letter=_letter(record))

    async def _get(self, delivery_id: str) -> DeliveryRecord:
        letters = self._store.dead_letters
        record = await letters.get(delivery_id)
        if record is None:
            whole = await whole_id(self._store.ids, delivery_id, "letter")
            record = None if whole is None else await letters.get(whole)
        if record is None:
            raise NotFound(
                f"No unsent reply has the id {delivery_id[:80]!r}. "
                "`hermes deadletters list` shows them."
            )
        return record


def _later(platform: str, held: str) -> str:
    """Say when a reply will be sent whose channel cannot send now."""
    because = held.removeprefix(f"{platform} is ")
    can_send = "can send again" if because.startswith(("not sending", "paused")) else "is connected"
    return f"will be sent when {platform} {can_send}: it is {because}"


def _letter(record: DeliveryRecord) -> DeadLetter:
    return DeadLetter(
        id=record.id,
        message_id=record.message_id,
        person_id=record.person_id,
        platform=record.target.platform,
        chat_id=record.target.chat_id,
        thread_id=record.target.thread_id,
        state=str(record.state),
        failure=record.failure or "",
        reason=last_reason(record),
        purpose=record.purpose,
        attempts=attempts_of(record),
        chunk=record.chunk,
        created_at=record.created_at,
    )
