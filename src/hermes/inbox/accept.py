"""Accepting: which lane and policy a message has, whether there is room, and the durable row."""

from collections.abc import Callable, Collection, Mapping

import msgspec
import structlog

from hermes.agents.roster import Roster
from hermes.config import BusySettings, InboxSettings
from hermes.errors import (
    BadRequest,
    HermesError,
    Overloaded,
    StorageFull,
    StoreError,
    StoreRejected,
)
from hermes.message.event import NO_RAW, MessageEvent
from hermes.message.ids import MakeId
from hermes.message.outcome import BusyPolicy, MessageState
from hermes.message.session_key import control_lane
from hermes.ports.channel import Accepted
from hermes.ports.clock import Clock
from hermes.ports.records import AcceptResult, Event, NewMessage, Refusal
from hermes.ports.store import Store
from hermes.ports.upward import Wake
from hermes.sessions.commands import parse_control, parse_in_lane
from hermes.sessions.keys import session_key

_FULL_RETRY_S = 5.0
_NOTES_IN_FLIGHT = 100
_log = structlog.get_logger(__name__)
_encode = msgspec.json.Encoder().encode


Admits = Callable[[MessageEvent], bool]


class Inbox:
    """The only way in: every channel hands its events here."""

    def __init__(
        self,
        store: Store,
        *,
        wake: Wake,
        roster: Roster,
        admits: Admits,
        clock: Clock,
        make_id: MakeId,
        settings: InboxSettings,
        busy: BusySettings,
        manifests: Mapping[str, BusyPolicy],
        pushed: Collection[str],
        outbox_limit: int,
    ) -> None:
        self._store = store
        self._wake = wake
        self._roster = roster
        self._admits = admits
        self._clock = clock
        self._make_id = make_id
        self._settings = settings
        self._busy = busy
        self._manifests = manifests
        self._pushed = pushed
        self._outbox_limit = outbox_limit
        self._notes = 0
        self.draining = False

    async def accept(self, event: MessageEvent) -> Accepted:
        """Keep an event; raises `Refused` or `TryLater`, and then nothing was kept.

        A stranger's message stands beside the lane: it joins and interrupts nobody's turn.
        """
        agent = self._roster.for_event(event, person_id=self._person_id(event))
        self._check_room(event)
        lane = str(session_key(event, agent.key))
        control = parse_control(event.text) is not None or not self._admits(event)
        return await self.put(
            event,
            lane=control_lane(lane) if control else lane,
            control=control,
            agent=None if agent.key == self._roster.default.key else agent.key,
        )

    async def put(
        self, event: MessageEvent, *, lane: str, control: bool = False, agent: str | None = None
    ) -> Accepted:
        """Keep an event on a lane that the caller chose; subagents come in here.

        `agent` is the one that the rules chose; what makes the message the same is what was sent.
        """
        chosen = event if event.agent or not agent else msgspec.structs.replace(event, agent=agent)
        message = NewMessage(
            id=self._make_id("m"),
            lane=lane,
            event=chosen,
            identity=_identity(event),
            received_at=self._clock.now(),
            control=control,
            busy=self._policy(event),
        )

        def kept(result: AcceptResult) -> None:
            if result.state is not MessageState.DONE:
                self._wake.arrived(lane, message_id=result.message_id, busy=message.busy)

        result = await self._accept(message, kept)
        if result.duplicate:
            await self._note_duplicate(result.message_id)
        return Accepted(message_id=result.message_id, duplicate=result.duplicate)

    async def _accept(
        self, message: NewMessage, kept: Callable[[AcceptResult], None]
    ) -> AcceptResult:
        try:
            return await self._store.inbox.accept(message, kept=kept)
        except StoreRejected as error:
            raise BadRequest(f"the message cannot be stored: {error}") from error

    async def refuse(
        self, platform: str, error: HermesError, *, external_id: str | None = None
    ) -> str:
        """Note an authenticated refusal best-effort; returns the id that `hermes why` explains."""
        refusal = Refusal(
            id=self._make_id("r"),
            at=self._clock.now(),
            platform=platform,
            code=error.code,
            text=str(error)[:500],
            external_id=external_id,
        )
        if self._notes < _NOTES_IN_FLIGHT and self._store.writable() is None:
            self._notes += 1
            try:
                await self._store.inbox.refuse(refusal, keep=self._settings.refusals_kept)
            except (StoreError, StorageFull) as problem:
                _log.warning("refusal_not_noted", refusal=refusal.id, problem=str(problem))
            finally:
                self._notes -= 1
        return refusal.id

    def _check_room(self, event: MessageEvent) -> None:
        if self.draining:
            raise Overloaded("Hermes is stopping; send this again in a moment", _FULL_RETRY_S)
        problem = self._store.writable()
        if problem is not None:
            raise StorageFull(problem, retry_after=30.0)
        waiting = self._store.inbox.waiting()
        if waiting >= self._settings.max_waiting:
            raise Overloaded(
                f"{waiting} messages are waiting, as many as inbox.max_waiting allows; "
                "send this again later",
                _FULL_RETRY_S,
            )
        if (
            event.source.platform in self._pushed
            and self._store.outbox.waiting(event.source.platform) >= self._outbox_limit
        ):
            raise Overloaded(
                "too many replies are waiting to be delivered (outbox.max_waiting)", _FULL_RETRY_S
            )

    def _person_id(self, event: MessageEvent) -> str | None:
        """Return who wrote, where a rule asks for it."""
        if not self._roster.asks_for_people:
            return None
        return self._store.users.standing(event.source.platform, event.source.user_id).person_id

    def _policy(self, event: MessageEvent) -> BusyPolicy:
        if event.internal or parse_in_lane(event.text) is not None:
            return BusyPolicy.QUEUE
        platform = event.source.platform
        chosen = self._busy.platforms.get(platform)
        if chosen is not None:
            return BusyPolicy(chosen)
        return self._manifests.get(platform, BusyPolicy(self._busy.default))

    async def _note_duplicate(self, message_id: str) -> None:
        if self._notes >= _NOTES_IN_FLIGHT:
            return
        self._notes += 1
        try:
            await self._store.inbox.note(message_id, Event("duplicate", self._clock.now()))
        except (StoreError, StorageFull) as problem:
            _log.warning("duplicate_not_noted", message_id=message_id, problem=str(problem))
        finally:
            self._notes -= 1


def _identity(event: MessageEvent) -> bytes:
    """Return what makes two bodies under one id the same: all but the time and the raw event."""
    try:
        return _encode(msgspec.structs.replace(event, at=0.0, raw=NO_RAW))
    except UnicodeEncodeError as error:
        raise BadRequest("the message holds a lone surrogate, which is not text") from error
