"""The in-memory twin of the store's outbox; fits `ports.store.OutboxStore`.

`commit` and `recover` do what the turn's commit and the start of the process do to its rows.
Nothing survives the object.
"""

from collections.abc import Iterable, Sequence

import msgspec

from hermes.errors import GuardFailed, LeaseLost
from hermes.message.event import ReplyHandle
from hermes.message.outcome import DeliveryState as State
from hermes.message.parts import Part
from hermes.ports.channel import Target
from hermes.ports.clock import Clock
from hermes.ports.outbox import DeliveryNote, DeliveryRecord, HandleUse, NewDelivery
from hermes.ports.steps import Lease

_MOST_NOTES = 32
_ENDED = frozenset({State.SENT, State.DEAD})
_WAITING = frozenset({State.PENDING, State.RETRY})
_HOLDS_BACK = frozenset({State.PENDING, State.SENDING, State.RETRY})


class MemoryOutboxStore:
    """Stores deliveries in a dictionary, in the order in which they were written."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rows: dict[str, DeliveryRecord] = {}
        self._held: set[str] = set()
        self._last: dict[str, bool] = {}
        self._fences: dict[str, int] = {}
        # By message: its handle, when it came, and the keys of its uses.
        self._handles: dict[str, tuple[ReplyHandle, float, list[str]]] = {}

    def lease(self, lane: str, *, owner: str = "test") -> Lease:
        """Lease a lane; every earlier lease of it is lost."""
        self._fences[lane] = self._fences.get(lane, 0) + 1
        return Lease(lane, owner, self._fences[lane])

    def commit(
        self, delivery: NewDelivery, *, message_id: str, person_id: str = "p_1"
    ) -> DeliveryRecord:
        """Write a reply as the turn's commit does: new, or over the preview with the same id."""
        now = self._clock.now()
        known = self._rows.get(delivery.id)
        if known is None:
            return self._add(delivery, message_id=message_id, person_id=person_id)
        state = delivery.state if known.state is State.PREVIEW else known.state
        return self._put(known, parts=delivery.parts, created_at=now, next_at=now, state=state)

    def recover(self) -> None:
        """Do what a start does: mark what was being sent as unknown."""
        for row in list(self._rows.values()):
            has_no_id = row.platform_message_id is None or row.more[-1:] == (None,)
            is_lost_preview = row.state is State.PREVIEW and has_no_id
            if row.state is State.SENDING or is_lost_preview:
                why = "the gateway ended while it was being sent"
                lost = DeliveryNote(
                    at=self._clock.now(), failure="network_timeout", why=why, then="unknown"
                )
                note = lost if row.state is State.SENDING else None
                self._put(row, note, state=State.UNKNOWN, failure=row.failure or "network_timeout")

    def get(self, delivery_id: str) -> DeliveryRecord:
        """Return one row."""
        return self._rows[delivery_id]

    def is_held(self, delivery_id: str) -> bool:
        """Return whether a row is held for the operator."""
        return delivery_id in self._held

    def give_handle(self, message_id: str, handle: ReplyHandle) -> None:
        """Do what the accept of a message with a reply handle does."""
        self._handles[message_id] = (handle, self._clock.now(), [])

    async def sent_since(
        self, platform: str, since: float, *, limit: int
    ) -> tuple[tuple[str, float], ...]:
        """Return the chats and times of the last messages sent to a platform, the oldest first."""
        sent = [
            (row.target.chat_id, row.sending_at)
            for row in self._of(platform)
            for _ in range(max(1, row.chunk))
            if row.sending_at is not None and row.sending_at > since
        ]
        return tuple(sorted(sent, key=lambda one: one[1])[-limit:])

    async def use_handle(self, delivery_id: str, *, key: str, most: int) -> HandleUse | None:
        """Count a send under `key` as a use of its message's reply handle; None if it has none."""
        known = self._handles.get(self._rows[delivery_id].message_id)
        if known is None:
            return None
        handle, received_at, keys = known
        limit = min(filter(None, (handle.uses, most)), default=len(keys) + 1)
        if key not in keys and len(keys) < limit:
            keys.append(key)
        number = keys.index(key) + 1 if key in keys else 0
        return HandleUse(handle=handle, number=number, received_at=received_at)

    async def open_preview(
        self, lease: Lease, delivery: NewDelivery, *, message_id: str, person_id: str
    ) -> DeliveryRecord:
        """Write a preview row before its first send; on resume return the existing row."""
        self._guard(lease)
        known = self._rows.get(delivery.id)
        if known is not None:
            return known
        return self._add(delivery, message_id=message_id, person_id=person_id)

    async def preview_sent(
        self, lease: Lease, delivery_id: str, *, platform_message_id: str, number: int = 0
    ) -> None:
        """Store the platform's id of a preview's message before any edit."""
        self._guard(lease)
        row = self._expect(delivery_id, {State.PREVIEW, State.UNKNOWN})
        if number == 0:
            self._put(
                row, platform_message_id=platform_message_id, state=State.PREVIEW, failure=None
            )
            return
        self._expect_more(row, number, opened=True)
        more = (*row.more[:-1], platform_message_id)
        self._put(row, more=more, state=State.PREVIEW, failure=None)

    async def preview_opens(
        self, lease: Lease, delivery_id: str, *, number: int, is_sent: bool = True
    ) -> None:
        """Write that a preview's message `number` (from 1) may be posted, or is not."""
        self._guard(lease)
        row = self._expect(delivery_id, {State.PREVIEW, State.UNKNOWN})
        self._expect_more(row, number, opened=not is_sent)
        self._put(row, more=(*row.more, None) if is_sent else row.more[:-1])

    async def fresh(self, delivery_id: str) -> None:
        """Send the whole reply again; the preview's messages are deleted afterwards."""
        row = self._expect(delivery_id, {State.PENDING, State.RETRY})
        self._put(row, fresh=True)

    async def is_shown(self, delivery_id: str) -> bool:
        """Return whether a preview is known to be posted on its platform."""
        row = self._rows.get(delivery_id)
        return row is not None and row.platform_message_id is not None

    async def due(
        self, platform: str, now: float, *, limit: int, at_most_s: float = 1e9
    ) -> tuple[DeliveryRecord, ...]:
        """Return what may be sent now, in order; a retrying reply blocks its chat."""
        heads: dict[str, DeliveryRecord] = {}
        for row in self._of(platform):
            if row.state in _HOLDS_BACK:
                heads.setdefault(row.target.chat_id, row)
        waiting = [row for row in heads.values() if row.state in _WAITING]
        due = [row for row in waiting if not 0 < row.next_at - now <= at_most_s]
        return tuple(due[:limit])

    async def next_due_at(self, platform: str) -> float | None:
        """Return when the next waiting delivery of a platform becomes due."""
        return min((r.next_at for r in self._of(platform) if r.state in _WAITING), default=None)

    async def sending(
        self,
        delivery_id: str,
        *,
        chunk: int,
        at: float,
        is_stopped: bool = False,
        most: int | None = None,
        last: bool = False,
    ) -> None:
        """Mark a chunk as being sent, before the platform call."""
        row = self._expect(delivery_id, {*_HOLDS_BACK, State.UNKNOWN})
        if row.stopped_by is not None and not is_stopped:
            raise GuardFailed(f"delivery {delivery_id} was stopped; read it again")
        begun = row.most if row.most is not None else most
        self._last[delivery_id] = last
        # What repeats a preview in doubt may have its key.
        is_in_doubt = row.state is State.UNKNOWN and row.sending_at is None
        begun_at = None if is_in_doubt else at
        self._put(row, state=State.SENDING, chunk=chunk, sending_at=begun_at, most=begun)

    async def chunk_sent(
        self,
        delivery_id: str,
        *,
        chunk: int,
        platform_message_id: str,
        last: bool,
        at: float,
        note: DeliveryNote | None = None,
    ) -> None:
        """Mark a chunk as delivered."""
        row = self._expect(delivery_id, {State.SENDING})
        self._put(
            row,
            note,
            state=State.SENT if last else State.PENDING,
            chunk=chunk + 1,
            platform_message_id=row.platform_message_id or platform_message_id,
            failure=None,
            sending_at=at if row.sending_at is None else row.sending_at,
            ended_at=at if last else None,
        )

    async def retry(
        self,
        delivery_id: str,
        *,
        at: float,
        failure: str,
        counts: bool,
        note: DeliveryNote | None = None,
    ) -> None:
        """Schedule a delivery for `at`; `counts` uses up an attempt."""
        row = self._expect(delivery_id, {*_HOLDS_BACK, State.UNKNOWN})
        attempts = row.attempts + int(counts)
        self._put(row, note, state=State.RETRY, next_at=at, failure=failure, attempts=attempts)

    async def unknown(
        self, delivery_id: str, *, at: float, note: DeliveryNote | None = None
    ) -> None:
        """Mark a delivery that may or may not have arrived."""
        row = self._expect(delivery_id, {State.SENDING, State.PREVIEW})
        failure = row.failure or "network_timeout"
        self._put(row, note, state=State.UNKNOWN, failure=failure, next_at=at)

    async def hold(self, delivery_id: str, *, at: float, note: DeliveryNote | None = None) -> None:
        """Hold an `unknown` delivery for the operator."""
        self._put(self._expect(delivery_id, {State.UNKNOWN}), note, next_at=at)
        self._held.add(delivery_id)

    async def dead(
        self, delivery_id: str, *, failure: str, at: float, note: DeliveryNote | None = None
    ) -> None:
        """Move a delivery to the dead letters."""
        row = self._expect(delivery_id, set(State) - _ENDED)
        self._put(row, note, state=State.DEAD, failure=failure, ended_at=at)

    async def stopped(self, delivery_id: str, *, at: float, note: DeliveryNote) -> None:
        """End a delivery whose person stopped it."""
        await self.dead(delivery_id, failure="dropped", at=at, note=note)

    async def is_sending(self, lane: str, target: Target) -> bool:
        """Return whether a reply is posted in part, or being sent, to a chat; this knows no lanes."""
        del lane
        rows = self._of(target.platform)
        return any(_is_begun(row) for row in rows if row.target.chat_id == target.chat_id)

    def stop(self, delivery_id: str, *, by: str) -> None:
        """Do what the commit of `/stop` does to a reply that is being sent."""
        row = self._rows[delivery_id]
        if _is_begun(row):
            self._put(row, stopped_by=by, next_at=self._clock.now())

    async def unsettled(self, platform: str) -> tuple[DeliveryRecord, ...]:
        """Return the `unknown` deliveries that are not resolved yet."""
        return tuple(
            row
            for row in self._of(platform)
            if row.state is State.UNKNOWN and row.id not in self._held and row.parts is not None
        )

    async def returned(
        self, delivery_id: str, *, platform: str, chunk: int, failure: str, status: str, at: float
    ) -> str | None:
        """Make a sent delivery that came back a dead letter; return the message's id."""
        row = self._rows.get(delivery_id)
        if row is None or row.target.platform != platform or row.sending_at is None:
            return None
        if row.state in {State.DEAD, State.PREVIEW}:
            return None
        self._held.discard(delivery_id)
        first = row.platform_message_id if chunk > 0 else None
        why = f"it came back: {status}" if status else "it came back"
        self._put(
            row,
            DeliveryNote(at=at, failure=failure, why=why, then="dead"),
            state=State.DEAD,
            failure=failure,
            chunk=min(row.chunk, chunk),
            platform_message_id=first,
        )
        return row.message_id

    async def arrived(
        self,
        delivery_id: str,
        *,
        platform: str,
        chunk: int,
        is_fresh: bool,
        platform_message_id: str,
        at: float,
    ) -> str | None:
        """Settle a chunk of which the platform says later that it arrived; return the message's id."""
        row = self._rows.get(delivery_id)
        if row is None or row.target.platform != platform or row.chunk != chunk:
            return None
        was_sent = row.sending_at is not None or row.state is State.UNKNOWN
        is_same = (row.fresh or row.failure == "edit_rejected") == is_fresh
        if row.state not in {*_HOLDS_BACK, State.UNKNOWN} or not was_sent or not is_same:
            return None
        if _is_edited(row) and not is_fresh:
            return None
        self._held.discard(delivery_id)
        told = DeliveryNote(at=at, then="arrived", tried=False, chunk=chunk)
        note = None if row.state is State.SENDING else told
        first = row.platform_message_id or platform_message_id
        shown = State.PREVIEW if row.parts is None else State.PENDING
        if chunk == 0 and row.sending_at is None:
            self._put(row, note, state=shown, failure=None, platform_message_id=first)
        elif 0 < chunk <= len(row.more) and row.more[chunk - 1] is None:
            more = (*row.more[: chunk - 1], platform_message_id, *row.more[chunk:])
            self._put(row, note, state=shown, failure=None, more=more)
        else:
            is_last = self._last[delivery_id]
            self._put(
                row,
                note,
                state=State.SENT if is_last else State.PENDING,
                chunk=chunk + 1,
                failure=None,
                platform_message_id=first,
                ended_at=at if is_last else None,
            )
        return row.message_id

    async def expire(self, before: float, *, served: Sequence[str], at: float) -> int:
        """Make replies older than `before` dead letters on platforms without a sender."""
        old = [
            row.id
            for row in self._rows.values()
            if row.state not in {*_ENDED, State.PREVIEW, State.SENDING}
            and row.created_at < before
            and row.target.platform not in served
        ]
        for delivery_id in old:
            note = DeliveryNote(at=at, failure="too_old", then="dead", tried=False)
            await self.dead(delivery_id, failure="too_old", at=at, note=note)
        return len(old)

    async def of_message(self, message_id: str) -> tuple[DeliveryRecord, ...]:
        """Return the deliveries of a message."""
        return tuple(row for row in self._rows.values() if row.message_id == message_id)

    async def waiting(self, platform: str | None = None) -> int:
        """Return how many deliveries are not finished."""
        rows = self._rows.values() if platform is None else self._of(platform)
        return sum(row.state not in {*_ENDED, State.UNKNOWN} for row in rows)

    def _of(self, platform: str) -> Iterable[DeliveryRecord]:
        return (row for row in self._rows.values() if row.target.platform == platform)

    def _add(self, delivery: NewDelivery, *, message_id: str, person_id: str) -> DeliveryRecord:
        now = self._clock.now()
        parts: tuple[Part, ...] | None = delivery.parts
        row = DeliveryRecord(
            id=delivery.id,
            seq=len(self._rows) + 1,
            message_id=message_id,
            person_id=person_id,
            target=delivery.target,
            parts=parts,
            state=delivery.state,
            purpose=delivery.purpose,
            platform_message_id=None,
            chunk=0,
            attempts=0,
            next_at=now,
            created_at=now,
            vanish_s=delivery.vanish_s,
        )
        self._rows[row.id] = row
        return row

    def _put(
        self, row: DeliveryRecord, note: DeliveryNote | None = None, **changes: object
    ) -> DeliveryRecord:
        if note is not None:
            told = (*row.story, note)[-_MOST_NOTES:]
            changes |= {"story": told, "failed": row.failed + int(note.tried)}
        changed = msgspec.structs.replace(row, **changes)
        self._rows[row.id] = changed
        return changed

    def _expect(self, delivery_id: str, states: set[State]) -> DeliveryRecord:
        row = self._rows[delivery_id]
        if row.state not in states:
            raise GuardFailed(
                f"delivery {delivery_id} is {row.state}, expected one of {sorted(states)}; "
                "read it again"
            )
        return row

    def _expect_more(self, row: DeliveryRecord, number: int, *, opened: bool) -> None:
        stands = len(row.more) == number and row.more[-1] is None
        if stands if opened else len(row.more) == number - 1:
            return
        raise GuardFailed(f"delivery {row.id} shows {row.more}, expected message {number} next")

    def _guard(self, lease: Lease) -> None:
        if self._fences.get(lease.lane) != lease.fence:
            raise LeaseLost(f"lane {lease.lane}: fence {lease.fence} no longer holds it")


def _is_begun(row: DeliveryRecord) -> bool:
    """Return whether a reply is posted in part, or being sent, and can still be stopped."""
    if row.stopped_by is not None or row.parts is None or row.purpose != "reply":
        return False
    is_posted = row.chunk > 0 or row.platform_message_id is not None
    return row.state in {*_HOLDS_BACK, State.UNKNOWN} and (is_posted or row.state is State.SENDING)


def _is_edited(row: DeliveryRecord) -> bool:
    """Return whether the message of the current chunk was posted before, so that only an edit is sent."""
    if row.sending_at is None or row.failure == "possible_repeat":
        return False
    ids = (row.platform_message_id, *row.more)
    return row.chunk < len(ids) and ids[row.chunk] is not None
