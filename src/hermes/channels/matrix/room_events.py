"""What becomes of each event of a room: a message for the inbox, or news about the room.

Between `sync_loop.py`, which brings the events of each room in order, and the inbox.
"""

import msgspec
import structlog

from hermes.channel_kit.intake import Intake
from hermes.channels.matrix.client import MatrixClient
from hermes.channels.matrix.encrypted_rooms import EncryptedRooms
from hermes.channels.matrix.inbound import (
    Bot,
    EventRoom,
    QuotedMessage,
    answered_id,
    is_message,
    plain_body,
    to_event,
)
from hermes.channels.matrix.rooms import RoomBook
from hermes.channels.matrix.sync_state import SyncState
from hermes.channels.matrix.wire import WireEvent, readable
from hermes.errors import BadRequest, DeliveryRejected
from hermes.message.event import MessageEvent
from hermes.ports.channel import Accept
from hermes.ports.channel_setup import ChannelSetup

_log = structlog.get_logger(__name__)


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
    ) -> None:
        self._client = client
        # The homeserver tells a batch again, but not one event of it: the message waits here.
        self._intake = Intake(accept, platform="matrix", repeats=False)
        self._bot = bot
        self._setup = setup
        self._kept = kept
        self._read: dict[str, str] = {}
        self.book = RoomBook(bot.user_id)
        self.unreadable = EncryptedRooms(client, kept, clock=setup.clock)

    @property
    def held(self) -> str | None:
        """Why a message is not kept yet; None if none waits."""
        return self._intake.held

    def take_read(self) -> dict[str, str]:
        """Return the last new message of each room, once."""
        read, self._read = self._read, {}
        return read

    async def take(self, told: tuple[str, msgspec.Raw]) -> None:
        """Take an event of a room."""
        room_id, raw = told
        event = readable(raw)
        if event is None:
            return
        self.book.hear(room_id, event)
        if event.type == "m.room.encrypted" and event.sender != self._bot.user_id:
            await self.unreadable.met(room_id)
        elif is_message(event, self._bot.user_id):
            message = await self._message(room_id, event, raw)
            if message is not None:
                await self._intake.take_now(message)
                self.unreadable.readable += 1
                self._read[room_id] = event.event_id
        if event.event_id:
            self._kept.last[room_id] = event.event_id

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
        try:
            found = readable(msgspec.Raw(await self._client.event(room_id, answered)))
        except DeliveryRejected:
            return None
        return None if found is None else QuotedMessage(found.sender, plain_body(found))
