"""The stream of events: successive long polls; each batch is accepted before the position moves.

Between the homeserver and the inbox. A batch that was not accepted completely is fetched again; the
inbox knows each event by its id.
"""

import asyncio
from typing import Any, Final

import msgspec
import structlog

from hermes.channel_kit.intake import Sleep, patient
from hermes.channels.matrix.client import MatrixClient
from hermes.channels.matrix.encrypted_rooms import EncryptedRooms
from hermes.channels.matrix.history import TYPES, is_invitation, read_back
from hermes.channels.matrix.inbound import (
    Bot,
    EventRoom,
    QuotedMessage,
    answered_id,
    is_message,
    plain_body,
    to_event,
)
from hermes.channels.matrix.invites import Invite, accepts, read_invite
from hermes.channels.matrix.rooms import RoomBook
from hermes.channels.matrix.settings import MatrixSettings
from hermes.channels.matrix.sync_state import SyncState, SyncStateKeeper
from hermes.channels.matrix.wire import JoinedRoom, Sync, WireEvent, read_event
from hermes.errors import (
    BadRequest,
    DeliveryError,
    DeliveryRejected,
    FailureClass,
    HermesError,
    RateLimited,
    Refused,
)
from hermes.message.event import MessageEvent
from hermes.ports.channel import Accept
from hermes.ports.clock import Clock

_RETRIES_S: Final = (0.2, 1.0, 2.0)
_JOIN_TRIES: Final = 5
_TIMELINE: Final = 50
_STATE: Final[dict[str, Any]] = {
    "types": [name for name in TYPES if name not in {"m.room.message", "m.room.encrypted"}],
    "lazy_load_members": True,
    "include_redundant_members": True,
}
_log = structlog.get_logger(__name__)


class SyncLoop:
    """Receives events for one account."""

    def __init__(
        self,
        client: MatrixClient,
        accept: Accept,
        *,
        bot: Bot,
        account: str,
        settings: MatrixSettings,
        keeper: SyncStateKeeper,
        kept: SyncState,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._client = client
        self._accept = patient(accept, sleep=sleep, on_wait=self._wait)
        self._bot = bot
        self._account = account
        self._settings = settings
        self._keeper = keeper
        self._kept = kept
        self._clock = clock
        self._sleep = sleep
        self._invites: dict[str, tuple[Invite, int]] = {}
        self._read: dict[str, str] = {}
        self.book = RoomBook(bot.user_id)
        self.unreadable = EncryptedRooms(client, kept, clock=clock)
        self.heard_at = clock.monotonic()
        self.held: str | None = None

    async def look_around(self) -> None:
        """Load the rooms' current state; on the first start, receive everything from here on."""
        sync = await self._client.sync(since=None, wait_s=0.0, asked=_filter(self._bot, limit=1))
        is_first = self._kept.since is None
        self._hear_rooms(sync)
        if is_first:
            self._kept.since = sync.next_batch
            self._kept.last = {room_id: _last_id(room) for room_id, room in sync.rooms.join.items()}
            await self._keeper.save(self._kept)
        await self._answer_invites()
        self.heard_at = self._clock.monotonic()

    async def run(self) -> None:
        """Receive until the homeserver is permanently lost; raise the error."""
        failures = 0
        while True:
            try:
                await self._listen_once()
                failures = 0
            except (DeliveryError, BadRequest) as error:
                await self._failed(error, failures)
                failures += 1

    async def _failed(self, error: HermesError, failures: int) -> None:
        is_revoked = getattr(error, "failure", None) is FailureClass.UNAUTHORIZED
        if is_revoked or failures >= len(_RETRIES_S):
            raise error
        _log.info("matrix.sync_failed", problem=str(error), failures=failures + 1)
        if isinstance(error, DeliveryRejected):
            await self._start_anew()
            return
        asked = getattr(error, "retry_after", None) or 0.0
        await self._sleep(max(_RETRIES_S[failures], asked))

    async def _start_anew(self) -> None:
        """The position is no longer valid: continue in each room after its last known event."""
        _log.warning("matrix.place_lost", rooms=len(self._kept.last))
        asked = _filter(self._bot, limit=1)
        sync = await self._client.sync(since=None, wait_s=0.0, asked=asked)
        self._hear_rooms(sync)
        for room_id in sync.rooms.join:
            last = self._kept.last.get(room_id)
            # If nothing was ever received, it is unknown what is old.
            if last == "":
                continue
            for raw in await self._missed(room_id, last=last, start=None, stop=None):
                await self._take(room_id, raw)
        await self._move_on(sync.next_batch)

    async def _listen_once(self) -> None:
        sync = await self._client.sync(
            since=self._kept.since,
            wait_s=self._settings.poll_s,
            asked=_filter(self._bot, limit=_TIMELINE),
        )
        self.heard_at = self._clock.monotonic()
        self._hear_rooms(sync)
        for room_id, room in sync.rooms.join.items():
            await self._take_room(room_id, room)
        await self._answer_invites()
        if sync.next_batch != self._kept.since:
            await self._move_on(sync.next_batch)

    async def _move_on(self, next_batch: str) -> None:
        """Store the position, now that everything before it was accepted; then send read
        receipts.
        """
        self._kept.since = next_batch
        await self._keeper.save(self._kept)
        read, self._read = self._read, {}
        if not self._settings.receipts:
            return
        for room_id, event_id in read.items():
            try:
                await self._client.read_receipt(room_id, event_id)
            except DeliveryError as error:
                _log.info("matrix.receipt_failed", problem=str(error))

    def _hear_rooms(self, sync: Sync) -> None:
        """Apply changes of rooms, before the messages in them."""
        for raw in sync.account_data.events:
            event = _readable(raw)
            if event is not None and event.type == "m.direct":
                self.book.hear_direct(event.content)
        for room_id in sync.rooms.leave:
            self.book.forget(room_id)
            self._kept.last.pop(room_id, None)
            self._invites.pop(room_id, None)
        for room_id, room in sync.rooms.join.items():
            self.book.hear_summary(room_id, room.summary)
            for raw in room.state.events:
                event = _readable(raw)
                if event is not None:
                    self.book.hear(room_id, event)
        for room_id, invited in sync.rooms.invite.items():
            invite = read_invite(room_id, invited, own=self._bot.user_id)
            if invite is not None:
                self._invites[room_id] = (invite, 0)

    async def _take_room(self, room_id: str, room: JoinedRoom) -> None:
        timeline = room.timeline
        events = timeline.events
        last = self._kept.last.get(room_id)
        if last is None:
            # New to us: only messages since the bot's invitation count.
            events = await self._missed(room_id, last=None, start=None, stop=None)
        elif timeline.limited:
            missed = await self._missed(
                room_id, last=last, start=timeline.prev_batch, stop=self._kept.since
            )
            events = [*missed, *events]
        for raw in events:
            await self._take(room_id, raw)
        self._kept.last.setdefault(room_id, "")

    async def _missed(
        self, room_id: str, *, last: str | None, start: str | None, stop: str | None
    ) -> list[msgspec.Raw]:
        def is_end(event: WireEvent) -> bool:
            if last is None:
                return is_invitation(event, self._bot.user_id)
            return bool(last) and event.event_id == last

        try:
            found, is_met = await read_back(
                self._client, self.book, room_id, is_end=is_end, start=start, stop=stop
            )
        except DeliveryRejected as error:
            _log.warning("matrix.gap_refused", room=room_id, problem=str(error))
            return []
        if last is None and not is_met:
            # Without an invitation in sight it is unknown what is old.
            _log.warning("matrix.invitation_not_found", room=room_id, left_out=len(found))
            return []
        return found

    async def _take(self, room_id: str, raw: msgspec.Raw) -> None:
        event = _readable(raw)
        if event is None:
            return
        self.book.hear(room_id, event)
        if event.type == "m.room.encrypted" and event.sender != self._bot.user_id:
            await self.unreadable.met(room_id)
        elif is_message(event, self._bot.user_id):
            message = await self._message(room_id, event, raw)
            if message is not None:
                await self._hand_over(message)
                self.unreadable.readable += 1
                self._read[room_id] = event.event_id
        if event.event_id:
            self._kept.last[room_id] = event.event_id

    async def _message(
        self, room_id: str, event: WireEvent, raw: msgspec.Raw
    ) -> MessageEvent | None:
        room = self.book.enter(room_id)
        place = EventRoom(
            room_id=room_id,
            is_direct=self.book.is_direct(room_id),
            name=self.book.name_of(room_id),
            topic=room.topic or None,
            user_name=self.book.member_name(room_id, event.sender),
        )
        try:
            return to_event(
                event,
                place,
                bot=self._bot,
                account=self._account,
                now=self._clock.now(),
                quoted=await self._quoted(room_id, event),
                raw=raw.copy(),
            )
        except BadRequest as error:
            _log.info("matrix.event_refused", event_id=event.event_id[:80], problem=str(error))
            return None

    async def _quoted(self, room_id: str, event: WireEvent) -> QuotedMessage | None:
        """Look up the message that another answers."""
        answered = answered_id(event)
        if answered is None:
            return None
        try:
            found = _readable(msgspec.Raw(await self._client.event(room_id, answered)))
        except DeliveryRejected:
            return None
        return None if found is None else QuotedMessage(found.sender, plain_body(found))

    async def _hand_over(self, message: MessageEvent) -> None:
        """Pass a message to the inbox, until it is on disk or refused for good."""
        try:
            await self._accept(message)
        except Refused as error:
            _log.info("matrix.refused", event_id=message.external_id, problem=str(error))
        except RateLimited as error:
            # Waiting for this sender would delay everyone after them.
            _log.warning("matrix.passed_over", event_id=message.external_id, code=error.code)
        self.held = None

    def _wait(self, error: HermesError) -> None:
        self.held = str(error)

    async def _answer_invites(self) -> None:
        """Accept allowed invitations; retry one that fails for now."""
        for invite, tries in tuple(self._invites.values()):
            if not accepts(invite, self._settings):
                _log.warning(
                    "matrix.invitation_not_accepted",
                    room=invite.room_id,
                    inviter=invite.inviter,
                    hint="platforms.matrix.join and allowed_users say whose are",
                )
                del self._invites[invite.room_id]
                continue
            try:
                await self._join(invite)
            except DeliveryError as error:
                _log.warning("matrix.join_failed", room=invite.room_id, problem=str(error))
                if isinstance(error, DeliveryRejected) or tries + 1 >= _JOIN_TRIES:
                    del self._invites[invite.room_id]
                else:
                    self._invites[invite.room_id] = (invite, tries + 1)
                continue
            self._invites.pop(invite.room_id, None)

    async def _join(self, invite: Invite) -> None:
        await self._client.join(invite.room_id)
        _log.info("matrix.joined", room=invite.room_id, inviter=invite.inviter)
        if invite.is_direct:
            content = self.book.add_direct(invite.inviter, invite.room_id)
            await self._client.keep_direct(self._bot.user_id, dict(content))


def _filter(bot: Bot, *, limit: int) -> dict[str, Any]:
    """Return the filter for the homeserver: messages and names; no presence, no echo of our own."""
    nothing = {"not_types": ["*"]}
    return {
        "presence": nothing,
        "account_data": {"types": ["m.direct"]},
        "room": {
            "account_data": nothing,
            "ephemeral": nothing,
            "state": _STATE,
            "timeline": {
                "limit": limit,
                "types": list(TYPES),
                "not_senders": [bot.user_id],
                "lazy_load_members": True,
            },
        },
    }


def _last_id(room: JoinedRoom) -> str:
    event = _readable(room.timeline.events[-1]) if room.timeline.events else None
    return "" if event is None else event.event_id


def _readable(raw: msgspec.Raw) -> WireEvent | None:
    try:
        return read_event(raw)
    except BadRequest as error:
        _log.info("matrix.event_unreadable", problem=str(error)[:200])
        return None
