"""Accepting messages: the unique row, its person, its encrypted body, and refusals."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from hermes.errors import Conflict
from hermes.message.chat import ChatMessage
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.message.missed_messages import missed_note
from hermes.message.outcome import MessageState
from hermes.message.session_key import is_below, root_lane
from hermes.message.thoughts import without_thoughts
from hermes.ports.approvals import DENIED_APPROVAL
from hermes.ports.channel import DeniedApproval
from hermes.ports.inbox import AcceptResult, InGroup, NewMessage, RefusedMessage
from hermes.ports.sessions import EndReason
from hermes.ports.shares import Share, ShareCounts, way_of
from hermes.ports.steps import TimelineEvent
from hermes.ports.turns import LaneView, MessageRecord, TurnResult
from hermes.store.sql.engine import Engine, decode_event, encode, read_choices
from hermes.store.sql.group_context import count_bots, keep_overheard, take_missed
from hermes.store.sql.hidden_ids import hidden_external
from hermes.store.sql.newcomers import find_or_add_person
from hermes.store.sql.offers import use_offer
from hermes.store.sql.places import event_place, result_place
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.tx import Tx

_SQL = load("inbox")
_OVERHEARD = load("overheard")
_APPROVALS = load("approvals")
_MAX_NOTES = 20
_TURNS = load("turns")
_decode_result = msgspec.json.Decoder(TurnResult).decode
_decode_chat = msgspec.json.Decoder(ChatMessage).decode


class WrittenMessage(NamedTuple):
    """What an accept wrote, and the view of its lane if nothing else is open there."""

    result: AcceptResult
    view: LaneView | None = None
    share: Share | None = None
    lane: str = ""


class _Denial(NamedTuple):
    approval: str
    lane: str
    message_id: str
    tool: str


class _Lane(NamedTuple):
    """A lane's row, as the query `lane` has it; `waiting_on` is the approval that it waits for."""

    fence: int
    epoch: int
    head: int
    waiting_on: str | None
    used_at: float
    end_reason: EndReason | None
    choices: str | None
    temporary: int


class SqlInbox:
    """Implements `ports.inbox.InboxStore`."""

    def __init__(self, engine: Engine, *, make_id: MakeId) -> None:
        self._engine = engine
        self._make_id = make_id

    async def accept(
        self, message: NewMessage, *, kept: Callable[[AcceptResult], None]
    ) -> AcceptResult:
        """Write the message; the same id with another body raises `Conflict`.

        `kept` is called once the message is on disk, even if the caller no longer waits.
        """

        def after(written: WrittenMessage) -> None:
            self.count(written)
            kept(written.result)

        written = await self._engine.writer.run(
            "accept", lambda tx: self.keep(tx, message), after=after
        )
        return written.result

    async def knows(self, event: MessageEvent) -> bool:
        """Return True if this message was accepted before, the same way."""
        way = (event.account, event.source.platform, event.route)
        reads = self._engine.reads
        if event.content_key and await reads.row(_SQL["find_content"], *way, event.content_key):
            return True
        hidden = hidden_external(self._engine.sealer, event.external_id)
        return await reads.row(_SQL["find_external"], *way, event.external_id, hidden) is not None

    async def keep(self, tx: Tx, message: NewMessage) -> WrittenMessage:
        """Write a message inside the current transaction; call `count` once it is on disk."""
        event, source = message.event, message.event.source
        digest = self._engine.sealer.digest(message.identity)
        person_id = await find_or_add_person(
            tx,
            source.platform,
            source.user_id,
            sealer=self._engine.sealer,
            make_id=self._make_id,
            at=message.received_at,
            name=source.user_name,
            key=event.key,
        )
        name = (event.account, source.platform, event.route, event.external_id)
        again = await _accepted_before(tx, event, digest, sealer=self._engine.sealer)
        if again is not None:
            return WrittenMessage(again)
        await use_offer(tx, message.press, message_id=message.id, at=message.received_at)
        group = message.group
        if group is not None and group.bot_turns:
            await count_bots(tx, group)
        if group is not None and group.is_kept:
            return await self._overhear(tx, message, group, person_id=person_id, digest=digest)
        # Locked first: the messages of a lane are then numbered in the order of their commits.
        row = await tx.locked(_TURNS["lane"], message.lane)
        busy_with = await tx.row(_SQL["under_way"], message.lane)
        event = await self._with_missed(
            tx, message, for_other=busy_with not in (None, (person_id,))
        )
        lane = _Lane(*row) if row is not None else await _add_lane(tx, message, person_id)
        _check_temporary(message, lane)
        content = encode(event)
        body = await self._engine.sealer.put(tx, person_id, content, place=event_place(message.id))
        new = (message.id, *name, digest, message.lane, message.control, message.busy.value)
        came = (person_id, body, message.received_at, lane.epoch, _came_by(event))
        key = event.content_key or None
        used = None if event.handle is None else 0
        seq = await tx.one(_SQL["accept"], *new, *came, key, used)
        denied = await self._deny(tx, message, person_id, approval_id=lane.waiting_on)
        result = AcceptResult(
            message_id=message.id,
            duplicate=False,
            state=MessageState.NEW,
            denied=DeniedApproval(denied[0].approval, denied[0].tool) if denied else None,
            wakes=tuple(one.lane for one in denied),
        )
        share = _share_of(message, person_id)
        if busy_with is not None:
            return WrittenMessage(result, share=share, lane=message.lane)
        view = _view(message, lane, person_id=person_id, seq=seq, content=content)
        return WrittenMessage(result, view, share, message.lane)

    async def _deny(
        self, tx: Tx, message: NewMessage, person_id: str, *, approval_id: str | None
    ) -> list[_Denial]:
        """Deny what the conversation waits for, if the message does that and the person had asked.

        The turn that waits for an approval then ends; that of a subagent goes on without the tool.
        """
        if not message.denies:
            return []
        source = message.event.source
        # By the channel, too: what was asked before it was linked to this person is theirs to decide.
        who = (person_id, source.sender_name)
        if approval_id is None:
            rows = await tx.rows(_APPROVALS["asked_below"], message.lane, *who)
            asked = [_Denial(*row) for row in rows if is_below(row[1], ancestor=message.lane)]
        else:
            rows = await tx.rows(_APPROVALS["asked_by"], approval_id, *who)
            asked = [_Denial(*row) for row in rows]
        return [one for one in asked if await self._is_denied(tx, message, one)]

    async def _is_denied(self, tx: Tx, message: NewMessage, asked: _Denial) -> bool:
        """Deny one approval; False if it was decided meanwhile, or its time is up."""
        decision = (asked.approval, "denied", message.id, message.received_at)
        if await tx.changed(_APPROVALS["decide"], *decision) != 1:
            return False
        tx.put(_APPROVALS["unblock_lane"], asked.approval, asked.lane)
        if asked.lane == message.lane:
            tx.put(_TURNS["interrupt"], asked.message_id, message.id)
        data = {"approval": asked.approval, "tool": asked.tool}
        denied = TimelineEvent(DENIED_APPROVAL, message.received_at, data)
        self._engine.add_events(tx, message.id, (denied,))
        return True

    async def _overhear(
        self, tx: Tx, message: NewMessage, group: InGroup, *, person_id: str, digest: bytes
    ) -> WrittenMessage:
        """Write a message that is not a turn, and its text as later context."""
        event, at = message.event, message.received_at
        name = (event.account, event.source.platform, event.route, event.external_id)
        body = await self._engine.sealer.put(
            tx, person_id, encode(event), place=event_place(message.id)
        )
        tx.put(
            _OVERHEARD["add_message"], message.id, *name, digest, message.lane, person_id, body, at
        )
        await keep_overheard(
            tx,
            group,
            message_id=message.id,
            person_id=person_id,
            body=body,
            event=event,
            at=at,
        )
        return WrittenMessage(
            AcceptResult(message_id=message.id, duplicate=False, state=MessageState.DONE)
        )

    async def _with_missed(self, tx: Tx, message: NewMessage, *, for_other: bool) -> MessageEvent:
        """Return the event with what its group said since the bot was last addressed.

        If the lane works `for_other`, a person other than its sender, a `/steer` is held back.
        """
        event, group = message.event, message.group
        if message.steers and for_other:
            event = msgspec.structs.replace(event, is_held_back=True)
        if group is None or group.takes is None:
            return event
        said = await take_missed(tx, group, sealer=self._engine.sealer, at=message.received_at)
        told = "\n\n".join(filter(None, (event.channel_context, missed_note(said))))
        return msgspec.structs.replace(event, channel_context=told or None)

    def count(self, kept: WrittenMessage) -> None:
        """Record that what `keep` wrote is on disk."""
        if not kept.result.duplicate and kept.result.state is MessageState.NEW:
            self._engine.waiting += 1
            if kept.share is not None:
                self._engine.shares.add(kept.result.message_id, kept.share, lane=kept.lane)
        if kept.view is not None:
            self._engine.fresh.put(kept.view, commits=self._engine.writer.commits)

    def waiting(self) -> int:
        """Return how many accepted messages have no outcome yet."""
        return self._engine.waiting

    def shares(self) -> ShareCounts:
        """Return the owners of waiting messages that came over a channel."""
        return self._engine.shares.counts

    def came_by(self, lane: str) -> str:
        """Return how the first waiting message of a lane came; empty if over no channel."""
        return self._engine.shares.came_by(lane)

    async def get(self, message_id: str) -> MessageRecord | None:
        """Return one message."""
        row = await self._engine.reads.row(_SQL["get"], message_id)
        return None if row is None else await self._engine.message(row)

    async def state(self, message_id: str) -> MessageState | None:
        """Return the state of one message, without decrypting it."""
        row = await self._engine.reads.row(_SQL["state"], message_id)
        return None if row is None else MessageState(row[0])

    async def result(self, message_id: str) -> TurnResult | None:
        """Return the answer to a finished message."""
        return await read_result(self._engine, message_id)

    async def refuse(self, refusal: RefusedMessage, *, keep: int) -> None:
        """Record a refusal, keeping only the newest `keep`."""

        async def unit(tx: Tx) -> None:
            tx.put(_SQL["refuse"], *msgspec.structs.astuple(refusal))
            tx.put(_SQL["trim_refusals"], keep)

        await self._engine.writer.run("refuse", unit)

    async def note(self, message_id: str, event: TimelineEvent) -> None:
        """Add an event to a message's timeline; only the first of a kind are kept."""
        known = (message_id, event.kind)

        async def unit(tx: Tx) -> None:
            if await tx.one(_SQL["count_events"], *known) < _MAX_NOTES:
                self._engine.add_events(tx, message_id, (event,))

        await self._engine.writer.run("note", unit)


async def read_result(engine: Engine, message_id: str) -> TurnResult | None:
    """Return the answer to a finished message."""
    reads, sealer = engine.reads, engine.sealer
    row = await reads.row(_SQL["result"], message_id)
    if row is None or row[1] is None:
        return None
    content = await sealer.get(reads, row[1], owner=row[2], place=result_place(message_id))
    reply = None if row[0] is None else await sealer.get(reads, row[0], owner=row[2])
    return decode_result(content, reply)


def decode_result(content: bytes | None, reply: bytes | None) -> TurnResult | None:
    """Return the answer to a finished message from its decrypted bodies."""
    if content is None:
        return None
    text = "" if reply is None else without_thoughts(_decode_chat(reply).text)
    return msgspec.structs.replace(_decode_result(content), text=text)


def _came_by(event: MessageEvent) -> str:
    """Return how a message with a token or a key came; other ways are in the row."""
    return way_of(event) if event.token or event.key else ""


def _share_of(message: NewMessage, person_id: str) -> Share | None:
    """Return the owner of a message whose person is known now."""
    share = message.share
    return None if share is None else Share(share.account, person_id, share.is_command)


async def _add_lane(tx: Tx, message: NewMessage, person_id: str) -> _Lane:
    source, at = message.event.source, message.received_at
    is_temporary = message.event.is_temporary and not message.control
    temporary = await tx.one(
        _SQL["add_lane"],
        message.lane,
        person_id,
        source.platform,
        source.chat_id,
        at,
        int(is_temporary),
        root_lane(message.lane),
    )
    return _Lane(0, 0, 0, None, at, None, None, int(temporary))


def _check_temporary(message: NewMessage, lane: _Lane) -> None:
    """Raise `Conflict` for a conversation that has begun with memory and shall go on without."""
    if message.event.is_temporary and not message.control and not lane.temporary:
        raise Conflict(
            "This conversation has begun with memory, and a temporary one has none from its first "
            "message on: start another conversation."
        )


def _view(
    message: NewMessage, lane: _Lane, *, person_id: str, seq: int, content: bytes
) -> LaneView:
    """Return what a read of the lane would find, with the event as its body decodes."""
    record = MessageRecord(
        id=message.id,
        seq=seq,
        lane=message.lane,
        person_id=person_id,
        event=decode_event(content),
        state=MessageState.NEW,
        busy=message.busy,
        control=message.control,
        received_at=message.received_at,
        attempts=0,
        external_id=message.event.external_id,
        platform=message.event.source.platform,
    )
    return LaneView(
        lane=message.lane,
        fence=lane.fence,
        epoch=lane.epoch,
        head=lane.head,
        message=record,
        waiting_on=lane.waiting_on,
        used_at=lane.used_at,
        end_reason=lane.end_reason,
        choices=read_choices(lane.choices),
        is_temporary=bool(lane.temporary),
    )


async def _accepted_before(
    tx: Tx, event: MessageEvent, digest: bytes, *, sealer: Sealer
) -> AcceptResult | None:
    """Return the answer to a message that was accepted before; None for a new one.

    Signed content is the same message under any id and with any header that is not signed.
    """
    way = (event.account, event.source.platform, event.route)
    if event.content_key:
        same = await tx.row(_SQL["find_content"], *way, event.content_key)
        if same is not None:
            return AcceptResult(message_id=same[0], duplicate=True, state=MessageState(same[1]))
    hidden = hidden_external(sealer, event.external_id)
    known = await tx.row(_SQL["find_external"], *way, event.external_id, hidden)
    return None if known is None else _answer_again(known, digest, external_id=event.external_id)


def _answer_again(
    known: tuple[str, bytes, str], digest: bytes, *, external_id: str
) -> AcceptResult:
    message_id, known_digest, state = known
    if known_digest != digest:
        raise Conflict(
            f"id {external_id!r} was already used for another message ({message_id}); "
            "send a new message under a new id"
        )
    return AcceptResult(message_id=message_id, duplicate=True, state=MessageState(state))
