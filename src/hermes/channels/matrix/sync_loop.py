"""The stream of events: successive long polls; the position moves behind what is kept.

Between the homeserver and `room_events.py`. A batch that was not accepted completely is fetched again;
the inbox knows each event by its id.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
import structlog

from hermes.channel_kit.long_poll import LongPoll, PolledEvent, PollPage
from hermes.channels.matrix.client import MatrixClient
from hermes.channels.matrix.history import STATE_TYPES, TYPES, is_invitation, read_back
from hermes.channels.matrix.invites import Invite, accepts, read_invite
from hermes.channels.matrix.room_events import RoomEvent, RoomEvents
from hermes.channels.matrix.settings import MatrixSettings
from hermes.channels.matrix.sync_state import SyncState, SyncStateKeeper
from hermes.channels.matrix.wire import JoinedRoom, Sync, WireEvent, readable
from hermes.errors import DeliveryError, DeliveryRejected
from hermes.ports.clock import Clock

_JOIN_TRIES: Final = 5
_TIMELINE: Final = 50
_STATE: Final[dict[str, Any]] = {
    "types": list(STATE_TYPES),
    "lazy_load_members": True,
    "include_redundant_members": True,
}
_log = structlog.get_logger(__name__)


class SyncLoop:
    """Receives events for one account; fits `channel_kit.long_poll.PollCursor` with what is stored."""

    def __init__(
        self,
        client: MatrixClient,
        events: RoomEvents,
        *,
        settings: MatrixSettings,
        keeper: SyncStateKeeper,
        kept: SyncState,
        clock: Clock,
        make_id: Callable[[str], str],
    ) -> None:
        self._client = client
        self._make_id = make_id
        self._events = events
        self._settings = settings
        self._keeper = keeper
        self._kept = kept
        self._invites: dict[str, tuple[Invite, int]] = {}
        self._fetched: tuple[str, ...] = ()
        self.book = events.book
        self.poll: LongPoll[RoomEvent] = LongPoll(
            self._fetch,
            events.take,
            platform="matrix",
            poll_s=settings.poll_s,
            clock=clock,
            cursor=self,
            renew=self._start_anew,
        )

    async def look_around(self) -> None:
        """Load the rooms' current state; on the first start, receive everything from here on."""
        sync = await self._client.sync(
            since=None, wait_s=0.0, asked=_filter(limit=1, unlike=self._make_id("look"))
        )
        is_first = self._kept.since is None
        self._hear_rooms(sync, is_whole=True)
        if is_first:
            await self._events.hear_keys(sync)
            self._kept.since = sync.next_batch
            self._kept.last = {room_id: _last_id(room) for room_id, room in sync.rooms.join.items()}
            await self._keeper.save(self._kept)

    async def load(self) -> str | None:
        """Return the stored position."""
        return self._kept.since

    async def keep(self, position: str) -> None:
        """Store the position, now that all before it is accepted; then send read receipts."""
        self._kept.since = position
        await self._events.settle()
        for room_id in self._fetched:
            self._kept.last.setdefault(room_id, "")
        await self._keeper.save(self._kept)
        read = self._events.take_read()
        for room_id, event_id in read.items() if self._settings.receipts else ():
            try:
                await self._client.read_receipt(room_id, event_id)
            except DeliveryError as error:
                _log.info("matrix.receipt_failed", problem=str(error))

    async def _fetch(self, since: str | None, wait_s: float) -> PollPage[RoomEvent]:
        """Return the next events of all rooms, with those that the homeserver left out."""
        await self._answer_invites()
        asked = _filter(limit=_TIMELINE)
        sync = await self._client.sync(since=since, wait_s=wait_s, asked=asked)
        found = await self._events.hear_keys(sync)
        self._hear_rooms(sync)
        for room_id, room in sync.rooms.join.items():
            events = await self._new_in(room_id, room)
            found += [PolledEvent(event=(room_id, raw), chat=room_id) for raw in events]
        self._fetched = tuple(sync.rooms.join)
        return PollPage(events=found, cursor=sync.next_batch)

    async def _start_anew(self) -> str:
        """The position is no longer valid: continue in each room after its last known event."""
        _log.warning("matrix.place_lost", rooms=len(self._kept.last))
        sync = await self._client.sync(
            since=None, wait_s=0.0, asked=_filter(limit=1, unlike=self._make_id("look"))
        )
        await self._events.hear_keys(sync, is_anew=True)
        self._hear_rooms(sync, is_whole=True)
        for room_id in sync.rooms.join:
            last = self._kept.last.get(room_id)
            # If nothing was ever received, it is unknown what is old.
            if last == "":
                continue
            for raw in await self._missed(room_id, last=last):
                await self._events.take((room_id, raw))
        await self.keep(sync.next_batch)
        return sync.next_batch

    def _hear_rooms(self, sync: Sync, *, is_whole: bool = False) -> None:
        """Apply changes of rooms, before the messages in them; of the whole state, also the newest."""
        for event in map(readable, sync.account_data.events):
            if event is not None and event.type == "m.direct":
                self.book.hear_direct(event.content)
        for room_id in sync.rooms.leave:
            self.book.forget(room_id)
            self._kept.last.pop(room_id, None)
            self._invites.pop(room_id, None)
        for room_id, room in sync.rooms.join.items():
            self.book.hear_summary(room_id, room.summary)
            if room.timeline.limited:
                self._events.members_changed(room_id)
            newest = room.timeline.events if is_whole else ()
            self._hear_state(room_id, (*room.state.events, *newest))
        for room_id, invited in sync.rooms.invite.items():
            invite = read_invite(room_id, invited, own=self.book.own)
            if invite is not None:
                self._invites[room_id] = (invite, 0)

    def _hear_state(self, room_id: str, events: Iterable[msgspec.Raw]) -> None:
        for event in map(readable, events):
            if event is not None:
                self.book.hear(room_id, event)

    async def _new_in(self, room_id: str, room: JoinedRoom) -> list[msgspec.Raw]:
        timeline = room.timeline
        last = self._kept.last.get(room_id)
        if last is None:
            # New to us: only messages since the bot's invitation count, but all of the room's state.
            self._hear_state(room_id, timeline.events)
            return await self._missed(room_id, last=None)
        if not timeline.limited:
            return timeline.events
        start, stop = timeline.prev_batch, self._kept.since
        return [
            *(await self._missed(room_id, last=last, start=start, stop=stop)),
            *timeline.events,
        ]

    async def _missed(
        self, room_id: str, *, last: str | None, start: str | None = None, stop: str | None = None
    ) -> list[msgspec.Raw]:
        def is_end(event: WireEvent) -> bool:
            if last is None:
                return is_invitation(event, self.book.own)
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

    async def _answer_invites(self) -> None:
        """Accept allowed invitations; retry one that fails for now."""
        for invite, tries in tuple(self._invites.values()):
            left = tries + 1 < _JOIN_TRIES
            if not accepts(invite, self._settings):
                left = False
                _log.warning(
                    "matrix.invitation_not_accepted",
                    room=invite.room_id,
                    inviter=invite.inviter,
                    hint="platforms.matrix.join and allowed_users say whose are",
                )
            else:
                left = left and not await self._is_joined(invite)
            if left:
                self._invites[invite.room_id] = (invite, tries + 1)
            else:
                self._invites.pop(invite.room_id, None)

    async def _is_joined(self, invite: Invite) -> bool:
        """Accept an invitation; return False if it may succeed later."""
        try:
            await self._client.join(invite.room_id)
            if invite.is_direct:
                content = self.book.add_direct(invite.inviter, invite.room_id)
                await self._client.keep_direct(self.book.own, dict(content))
        except DeliveryError as error:
            _log.warning("matrix.join_failed", room=invite.room_id, problem=str(error))
            return isinstance(error, DeliveryRejected)
        _log.info("matrix.joined", room=invite.room_id, inviter=invite.inviter)
        return True


def _filter(*, limit: int, unlike: str = "") -> dict[str, Any]:
    """Return the filter for the homeserver: messages, also our own, and names; no presence.

    Synapse answers a first sync that is asked in the same words within two minutes as it did before,
    without the rooms and the encryption that are new: `unlike` makes other words.
    """
    nothing = {"not_types": ["*"]}
    timeline = {"limit": limit, "types": list(TYPES), "lazy_load_members": True}
    return {
        "presence": nothing,
        "account_data": {"types": ["m.direct"]},
        "room": {
            **({"not_rooms": [f"!{unlike}:hermes.invalid"]} if unlike else {}),
            "account_data": nothing,
            "ephemeral": nothing,
            "state": _STATE,
            "timeline": timeline,
        },
    }


def _last_id(room: JoinedRoom) -> str:
    event = readable(room.timeline.events[-1]) if room.timeline.events else None
    return "" if event is None else event.event_id
