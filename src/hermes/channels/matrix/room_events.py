"""What becomes of each event of a room: a message for the inbox, or news about the room.

Between `sync_loop.py`, which brings the events of each room in order, and the inbox.
"""

from typing import TYPE_CHECKING, Final

import msgspec
import structlog

from hermes.channel_kit.bounded_map import BoundedMap
from hermes.channel_kit.intake import Intake
from hermes.channel_kit.kept_map import KeptMap
from hermes.channel_kit.long_poll import PolledEvent
from hermes.channels.matrix.client import MatrixClient
from hermes.channels.matrix.encrypted_rooms import EncryptedRooms
from hermes.channels.matrix.inbound import (
    Bot,
    EventRoom,
    QuotedMessage,
    annotation_of,
    answered_id,
    is_message,
    plain_body,
    reaction_event,
    redacted_id,
    to_event,
)
from hermes.channels.matrix.rooms import RoomBook
from hermes.channels.matrix.sync_state import SyncState
from hermes.channels.matrix.wire import Sync, WireEvent, readable
from hermes.errors import BadRequest, DeliveryRejected
from hermes.message.event import MessageEvent, Reaction
from hermes.ports.channel import Accept, ArrivedDelivery
from hermes.ports.channel_setup import ChannelSetup

if TYPE_CHECKING:
    from hermes.channels.matrix.encryption.machine import Encryption

_MOST_REACTIONS: Final = 10_000
_OWN_S: Final = 86_400.0
_log = structlog.get_logger(__name__)


# A room and an event in it.
RoomEvent = tuple[str, msgspec.Raw]


class _KnownReaction(msgspec.Struct, frozen=True):
    by: str
    reaction: Reaction


class RoomEvents:
    """Takes the events of one account; `take` returns once one is kept or never will be."""

    def __init__(
        self,
        client: MatrixClient,
        accept: Accept,
        *,
        bot: Bot,
        setup: ChannelSetup,
        kept: SyncState,
        encryption: "Encryption | None",
    ) -> None:
        self._client = client
        # The homeserver tells a batch again, but not one event of it: the message waits here.
        self._intake = Intake(accept, platform="matrix", repeats=False)
        self._bot = bot
        self._encryption = encryption
        self._setup = setup
        self._kept = kept
        self._read: dict[str, str] = {}
        # A redaction does not say what it takes away.
        self._reactions = KeptMap(setup.state, "reaction:", most=_MOST_REACTIONS)
        self._own: BoundedMap[str, bool] = BoundedMap(
            _MOST_REACTIONS, lasts_s=_OWN_S, clock=setup.clock
        )
        self.book = RoomBook(bot.user_id)
        self.unreadable = EncryptedRooms(client, kept, clock=setup.clock, encryption=encryption)

    @property
    def held(self) -> str | None:
        """Why a message is not kept yet; None if none waits."""
        return self._intake.held

    def take_read(self) -> dict[str, str]:
        """Return the last new message of each room, once."""
        read, self._read = self._read, {}
        return read

    async def hear_keys(self, sync: Sync, *, is_anew: bool = False) -> list[PolledEvent[RoomEvent]]:
        """Take what a batch tells of keys; return the messages that waited for one."""
        if self._encryption is None:
            return []
        if is_anew:
            self._encryption.restart()
        found: list[PolledEvent[RoomEvent]] = []
        for room_id, event_id in await self._encryption.hear(sync):
            try:
                raw = msgspec.Raw(await self._client.event(room_id, event_id))
            except DeliveryRejected as error:
                _log.info("matrix.event_gone", room=room_id, problem=str(error))
                continue
            found.append(PolledEvent(event=(room_id, raw), chat=room_id))
        return found

    def members_changed(self, room_id: str) -> None:
        """Note that others may read in a room than before."""
        if self._encryption is not None:
            self._encryption.members_changed(room_id)

    async def settle(self) -> None:
        """Forget what waited for keys, now that it is kept."""
        if self._encryption is not None:
            await self._encryption.settle()

    async def take(self, told: RoomEvent) -> None:
        """Take an event of a room."""
        room_id, raw = told
        event = readable(raw)
        if event is None:
            return
        self.book.hear(room_id, event)
        if event.type == "m.room.member":
            self.members_changed(room_id)
        if event.sender == self._bot.user_id:
            await self._prove(event)
        elif event.type == "m.room.encrypted":
            await self._take_encrypted(room_id, event, raw)
        else:
            await self._take_plain(room_id, event, raw)
        if event.event_id:
            self._kept.last[room_id] = event.event_id

    async def _take_encrypted(self, room_id: str, event: WireEvent, raw: msgspec.Raw) -> None:
        opened = await self._opened(room_id, event)
        if opened is None:
            await self.unreadable.met(room_id)
        elif opened.type != "m.room.redaction":
            # Of one that is encrypted the homeserver has not checked whether its sender may.
            await self._take_plain(room_id, opened, raw)

    async def _opened(self, room_id: str, event: WireEvent) -> WireEvent | None:
        if self._encryption is None:
            return None
        return await self._encryption.decrypt(room_id, event)

    async def _take_plain(self, room_id: str, event: WireEvent, raw: msgspec.Raw) -> None:
        if event.type in {"m.reaction", "m.room.redaction"}:
            await self._take_reaction(room_id, event)
        elif is_message(event, self._bot.user_id):
            message = await self._message(room_id, event, raw)
            if message is not None:
                await self._intake.take_now(message)
                self.unreadable.readable += 1
                self._read[room_id] = event.event_id

    async def _prove(self, event: WireEvent) -> None:
        """Report that one of the bot's own messages has arrived, by its transaction id."""
        key = event.unsigned.get("transaction_id")
        if self._setup.arrived is not None and isinstance(key, str):
            await self._setup.arrived(ArrivedDelivery(key=key, platform_message_id=event.event_id))

    async def _take_reaction(self, room_id: str, event: WireEvent) -> None:
        """Take a reaction to a message of the bot, or the end of one."""
        reaction = annotation_of(event)
        if reaction is not None and await self._is_own(room_id, reaction.message_id):
            await self._put_reaction(room_id, event, reaction, by=event.sender)
            known = _KnownReaction(by=event.sender, reaction=reaction)
            await self._reactions.put(event.event_id, msgspec.json.encode(known).decode())
        redacted = redacted_id(event)
        found = None if redacted is None else await self._reactions.get(redacted)
        if found is not None:
            known = msgspec.json.decode(found, type=_KnownReaction)
            gone = msgspec.structs.replace(known.reaction, is_removed=True)
            await self._put_reaction(room_id, event, gone, by=known.by)

    async def _put_reaction(
        self, room_id: str, event: WireEvent, reaction: Reaction, *, by: str
    ) -> None:
        message = reaction_event(
            event,
            self._place(room_id, by),
            reaction,
            account=self._setup.account,
            now=self._setup.clock.now(),
            user_id=by,
        )
        await self._intake.take_now(message)

    async def _is_own(self, room_id: str, event_id: str) -> bool:
        """Return whether the bot wrote a message."""
        known = self._own.get(event_id)
        if known is None:
            found = await self._event(room_id, event_id)
            known = found is not None and found.sender == self._bot.user_id
            self._own.put(event_id, known)
        return known

    async def _message(
        self, room_id: str, event: WireEvent, raw: msgspec.Raw
    ) -> MessageEvent | None:
        try:
            return to_event(
                event,
                self._place(room_id, event.sender),
                bot=self._bot,
                account=self._setup.account,
                now=self._setup.clock.now(),
                quoted=await self._quoted(room_id, event),
                raw=raw.copy(),
            )
        except BadRequest as error:
            _log.info("matrix.event_refused", event_id=event.event_id[:80], problem=str(error))
            return None

    def _place(self, room_id: str, user_id: str) -> EventRoom:
        return EventRoom(
            room_id=room_id,
            is_direct=self.book.is_direct(room_id),
            name=self.book.name_of(room_id),
            topic=self.book.enter(room_id).topic or None,
            user_name=self.book.member_name(room_id, user_id),
        )

    async def _quoted(self, room_id: str, event: WireEvent) -> QuotedMessage | None:
        """Look up the message that another answers."""
        answered = answered_id(event)
        if answered is None:
            return None
        found = await self._event(room_id, answered)
        return None if found is None else QuotedMessage(found.sender, plain_body(found))

    async def _event(self, room_id: str, event_id: str) -> WireEvent | None:
        try:
            found = readable(msgspec.Raw(await self._client.event(room_id, event_id)))
        except DeliveryRejected:
            return None
        if found is not None and found.type == "m.room.encrypted":
            return await self._opened(room_id, found) or found
        return found
