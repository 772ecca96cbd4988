"""Deliveries that are not replies: the row to send, and the mirrors for the chat's sessions."""

from collections.abc import Callable, Sequence
from typing import Any

from hermes.message.chat import ChatMessage
from hermes.message.ids import MakeId
from hermes.message.outcome import MessageState
from hermes.message.parts import AudioPart, FilePart, ImagePart, Part, TextPart
from hermes.message.session_key import SessionKey, depth_of, is_direct
from hermes.ports.channel import Target
from hermes.ports.outbox import NewDelivery
from hermes.ports.sends import KnownSession, NewSend
from hermes.store.sql.commit import write_delivery
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.mirrors import DeliveredMessage, Mirrors
from hermes.store.sql.offers import write_offer
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Tx

_SQL = load("sends")
_INBOX = load("inbox")
_OUTBOX = load("outbox")
_IN_A_GROUP = 20
_NO_ACCOUNT = "default"


class SqlSends:
    """Implements `ports.sends.SendStore`."""

    def __init__(self, engine: Engine, *, make_id: MakeId) -> None:
        self._engine = engine
        self._mirrors = Mirrors(engine, make_id=make_id)

    async def sessions(
        self, platform: str, chat_id: str, *, thread_id: str | None, agents: Sequence[str]
    ) -> tuple[KnownSession, ...]:
        """Return the sessions of a chat with an owner, most recently used first."""
        reads, rows = self._engine.reads, []
        chat = Target(platform=platform, account="", chat_id=chat_id, thread_id=thread_id)
        for agent in agents:
            kinds = ("dm", "group", "channel") if thread_id is None else ("thread",)
            for kind in kinds:
                lane = _lane(agent, chat, kind=kind)
                rows += await reads.rows(_SQL["session"], lane)
                if kind != "dm":
                    rows += await reads.rows(_SQL["sessions_of_group"], lane, _IN_A_GROUP)
        return tuple(map(_known, sorted(rows, key=lambda row: -row[2])))

    async def has_written(self, person_id: str, *, lane: str) -> bool:
        """Return whether a person has written in a session of late."""
        rows = await self._engine.reads.rows(_SQL["lanes_of_late"], person_id)
        return any(row[0] == lane for row in rows)

    async def direct_chats(self, person_id: str, *, limit: int) -> tuple[KnownSession, ...]:
        """Return the direct chats in which a person wrote recently, newest first."""
        reads = self._engine.reads
        lanes = [str(row[0]) for row in await reads.rows(_SQL["lanes_of_late"], person_id)]
        rows = [
            row
            for lane in lanes
            if is_direct(lane) and depth_of(lane) == 0
            for row in await reads.rows(_SQL["session"], lane)
        ]
        return tuple(_known(row) for row in rows if row[1] == person_id)[:limit]

    async def put(self, send: NewSend, *, kept: Callable[[tuple[str, ...]], None]) -> bool:
        """Write a delivery and its mirrors in one transaction; False if its id exists already."""

        def after(lanes: tuple[str, ...] | None) -> None:
            if lanes is not None:
                self._engine.waiting += len(lanes)
                self._engine.fresh.clear()
                kept(lanes)

        lanes = await self._engine.writer.run("send", lambda tx: self.write(tx, send), after=after)
        return lanes is not None

    async def write(self, tx: Tx, send: NewSend) -> tuple[str, ...] | None:
        """Write a delivery and its mirrors inside a transaction; None if its id exists already, or it
        comes too late.

        Each returned lane has one more open message: the caller counts them (`Engine.waiting`),
        clears `Engine.fresh` and wakes them.
        """
        if await tx.row(_OUTBOX["get"], send.id) is not None or await self._is_late(tx, send):
            return None
        chat = send.opens
        if chat is not None:
            tx.put(
                _SQL["open_chat"],
                chat.lane,
                chat.person_id,
                chat.platform,
                chat.chat_id,
                send.at,
            )
        sent = ChatMessage("assistant", send.parts)
        said = ChatMessage("assistant", tuple(map(_spoken, send.parts)))
        delivery = NewDelivery(
            id=send.id,
            target=send.target,
            parts=send.parts,
            state=send.state,
            purpose=send.purpose,
            vanish_s=send.vanish_s,
        )
        write_delivery(
            tx,
            delivery,
            message_id=send.message_id,
            person_id=send.person_id,
            body=await self._engine.sealer.put(tx, send.person_id, encode(sent)),
            at=send.at,
        )
        await write_offer(
            tx,
            self._engine,
            send.offer,
            delivery=send.id,
            message_id=send.message_id,
            person_id=send.person_id,
            platform=send.target.platform,
        )
        delivered = DeliveredMessage(send.id, send.target.account, said, send.at)
        return await self._mirrors.write(tx, send.mirrors, delivered)

    async def _is_late(self, tx: Tx, send: NewSend) -> bool:
        if send.unless_ended is None:
            return False
        row = await tx.row(_INBOX["state"], send.unless_ended)
        return row is None or row[0] == MessageState.DONE


def _lane(agent: str, target: Target, *, kind: str) -> str:
    key = SessionKey(
        agent=agent,
        platform=target.platform,
        chat_type=kind,
        chat_id=target.chat_id,
        thread=target.thread_id,
    )
    return str(key)


def _known(row: tuple[Any, ...]) -> KnownSession:
    return KnownSession(
        lane=row[0], person_id=row[1], account=row[4] or _NO_ACCOUNT, used_at=row[2]
    )


def _spoken(part: Part) -> Part:
    """Return what a conversation has of a part that was sent: of a file its name."""
    if isinstance(part, ImagePart | AudioPart | FilePart):
        return TextPart(f"[file: {part.media.name or part.media.mime}]")
    return part
