"""Accepts a message: chooses its lane and busy policy, checks for space, writes the durable row."""

from collections.abc import Awaitable, Callable, Collection, Mapping

import msgspec
import structlog

from hermes.agents.roster import Roster
from hermes.config import BusySettings, InboxSettings
from hermes.errors import (
    BadRequest,
    GuardFailed,
    HermesError,
    Overloaded,
    RateLimited,
    Skipped,
    StorageFull,
    StoreDamaged,
    StoreError,
    StoreRejected,
)
from hermes.inbox.group_context import as_context, in_group
from hermes.inbox.presses import Presses
from hermes.inbox.reactions import Reactions
from hermes.inbox.space import FULL_RETRY_S, InboxPlace, InboxSpace
from hermes.message.channel_name import of_channel
from hermes.message.event import NO_RAW, MessageEvent
from hermes.message.ids import MakeId
from hermes.message.offer import Press
from hermes.message.outcome import BusyPolicy, MessageState
from hermes.message.parts import TextPart
from hermes.message.plain_answer import plain_answer
from hermes.message.session_key import control_lane, is_task
from hermes.message.source import Source
from hermes.people.access import Admission
from hermes.people.groups import Groups, GroupVerdict
from hermes.ports.channel import Acceptance, ReactionName
from hermes.ports.clock import Clock
from hermes.ports.inbox import AcceptResult, InGroup, NewMessage, RefusedMessage
from hermes.ports.signals import Signals
from hermes.ports.steps import TimelineEvent
from hermes.ports.store import Store
from hermes.sessions.commands import CommandBook, TypedCommand
from hermes.sessions.keys import SessionKeys

_PAUSED_RETRY_S = 60.0
_DAMAGED_RETRY_S = 60.0
_NOTES_IN_FLIGHT = 100
# Replies are counted this often, and always if less than this much of their limit is left.
_COUNT_EVERY_S = 0.5
_MUCH_ROOM = 2_000
_log = structlog.get_logger(__name__)
_encode = msgspec.json.Encoder().encode


# Commands whose text is a separate message, and what it does to a running turn.
_MESSAGES = {"queue": BusyPolicy.QUEUE, "steer": BusyPolicy.STEER}

# Whether an event is the answer to a question that waits on its lane.
Answers = Callable[[MessageEvent, str], bool]
# Whether a sender may use a command where they wrote it.
MayUse = Callable[[str, Source], bool]
# Shows on a message how far it is, in its own time.
Mark = Callable[[MessageEvent, ReactionName], None]
# The result of the hooks for an event, before anything else; raises `Skipped`.
Dispatch = Callable[[MessageEvent], Awaitable[MessageEvent]]


class Inbox:
    """The only entrance: every channel passes its events to `accept`."""

    def __init__(
        self,
        store: Store,
        *,
        signals: Signals,
        roster: Roster,
        admission: Callable[[MessageEvent], Awaitable[Admission]],
        may_use: MayUse,
        groups: Groups,
        answers: Answers,
        presses: Presses,
        reactions: Reactions,
        commands: CommandBook,
        clock: Clock,
        make_id: MakeId,
        settings: InboxSettings,
        busy: BusySettings,
        manifests: Mapping[str, BusyPolicy],
        keys: SessionKeys,
        pushed: Collection[str],
        programs: Collection[str],
        outbox_limit: int,
        paused: Collection[str] = (),
        mark: Mark | None = None,
        dispatch: Dispatch | None = None,
    ) -> None:
        self._store = store
        self._signals = signals
        self._roster = roster
        self._admission = admission
        self._may_use = may_use
        self._groups = groups
        self._answers = answers
        self._presses = presses
        self._reactions = reactions
        self._commands = commands
        self._clock = clock
        self._make_id = make_id
        self._settings = settings
        self._busy = busy
        self._manifests = manifests
        self._keys = keys
        self._pushed = pushed
        self._room = InboxSpace(store, settings=settings, programs=programs)
        self._counted: dict[str, tuple[float, int]] = {}
        self._outbox_limit = outbox_limit
        self._dispatch = dispatch
        self._mark = mark
        self._notes = 0
        self.draining = False
        # Platforms on which nothing is accepted until an operator resumes them; it may change.
        self._paused = paused

    async def accept(self, event: MessageEvent) -> Acceptance:
        """Write an event to disk; raises `Refused` or `TryLater` if nothing was written."""
        self._signals.accepting += 1
        try:
            try:
                return await self._accept(event)
            except GuardFailed:
                if event.pressed is None:
                    raise
                # Somebody else pressed meanwhile: it is read again, as a press that came too late.
                return await self._accept(event)
        except StoreDamaged as error:
            # Not the message is at fault: its sender shall try again when the store is restored.
            raise StorageFull(str(error), retry_after=_DAMAGED_RETRY_S) from error
        finally:
            self._signals.accepting -= 1

    async def _accept(self, event: MessageEvent) -> Acceptance:
        """Decide which lane an event belongs to, and write it there.

        A stranger's message goes beside the lane: it neither joins nor interrupts a turn. So does
        the answer to a question of a running turn, and a yes or no to a pending approval.
        """
        # Messages are compared as they were sent, before any hook changed them.
        sent = event
        if self._dispatch is not None:
            event = await self._dispatched(event, self._dispatch)
        press = None
        if event.pressed is not None:
            press = await self._presses.read(event, event.pressed)
            event = press.event
        elif event.reaction is not None:
            event = await self._reactions.read(event, event.reaction)
        heard = await self._heard(event)
        agent = await self._roster.for_event(event, person_id=await self._person_id(event))
        await self._check_room(event)
        lane = await self._keys.lane(event.source, agent.key)
        if press is not None and press.lane is not None:
            lane = press.lane
        if heard.hearing == "context" and not await self._is_word(event, lane):
            return await self._overhear(sent, event, lane=lane)
        written = self._commands.read(event.text)
        busy = None if written is None else self._busy_of(written, event)
        is_beside = written is not None and written.is_beside and busy is None
        if not is_beside:
            agent.check_ready()
        is_stranger = not (await self._admission(event)).is_in
        control = (
            is_beside
            or is_stranger
            or self._answers(event, lane)
            or await self._decides(event, lane)
            # A press or a reaction that is no command answers something, or does nothing.
            or (written is None and (press is not None or event.reaction is not None))
        )
        said = event
        if written is not None and busy is not None and not control:
            said = _without_command(event, written, is_queued=busy is BusyPolicy.QUEUE)
        accepted = await self._put(
            sent,
            said,
            lane=control_lane(lane) if control else lane,
            control=control,
            agent=None if agent.key == self._roster.default.key else agent.key,
            busy=busy or (BusyPolicy.QUEUE if written is not None else None),
            group=self._in_group(
                said, takes=not control and (_is_for_model(written) or busy is not None)
            ),
            room=await self._claim(event, is_command=control and not is_stranger),
            press=None if press is None else press.press,
        )
        return msgspec.structs.replace(accepted, is_stranger=True) if is_stranger else accepted

    async def _heard(self, event: MessageEvent) -> GroupVerdict:
        """Return what happens to a message in its group; raises `Skipped` if it is ignored."""
        heard = self._groups.hear(event)
        if heard.hearing == "context":
            admission = await self._admission(event)
            if admission.verdict in ("blocked", "ignore"):
                heard = GroupVerdict("nothing", admission.rule)
        if heard.hearing == "nothing":
            raise await self._skipped(event, Skipped(f"passed over: {heard.rule}"))
        return heard

    async def _is_word(self, event: MessageEvent, lane: str) -> bool:
        """Return whether a yes or no, without a mention of the bot, answers a pending question."""
        if plain_answer(event.text) is None:
            return False
        return self._answers(event, lane) or await self._decides(event, lane)

    async def _overhear(self, sent: MessageEvent, event: MessageEvent, *, lane: str) -> Acceptance:
        """Keep a message that is not addressed to the bot as context for a later turn."""
        group = in_group(event, self._groups.of(event.source.platform), is_kept=True, takes=False)
        return await self._put(
            sent,
            as_context(event),
            lane=control_lane(lane),
            control=True,
            agent=None,
            group=group,
            room=await self._claim(event, is_command=False),
        )

    def _in_group(self, event: MessageEvent, *, takes: bool) -> InGroup | None:
        if event.source.chat_type == "dm" and not event.source.is_bot:
            return None
        rules = self._groups.of(event.source.platform)
        return in_group(event, rules, is_kept=False, takes=takes)

    async def _skipped(self, event: MessageEvent, error: Skipped) -> Skipped:
        """Record that a message was skipped; return the error with the id of that record."""
        error.refusal = await self.refuse(
            event.source.platform, error, external_id=event.external_id
        )
        return error

    async def _claim(self, event: MessageEvent, *, is_command: bool) -> InboxPlace | None:
        """Reserve space for a message; records if one sender has too many waiting.

        A message that was accepted before needs no space: it gets the same answer as then.
        """
        try:
            return await self._room.claim(event, is_command=is_command)
        except (Overloaded, RateLimited) as error:
            if await self._store.inbox.knows(event):
                return None
            if not isinstance(error, RateLimited):
                raise
            error.refusal = await self.refuse(
                event.source.platform, error, external_id=event.external_id
            )
            raise

    async def _dispatched(self, event: MessageEvent, dispatch: Dispatch) -> MessageEvent:
        try:
            return await dispatch(event)
        except Skipped as error:
            raise await self._skipped(event, error) from None

    async def put(
        self, event: MessageEvent, *, lane: str, control: bool = False, agent: str | None = None
    ) -> Acceptance:
        """Write an event to a lane that the caller chose; subagents use this.

        `agent` is the one that the rules chose. Two messages are the same if the same event was
        sent. A task for which no turn waits needs space like a person's message; raises `TryLater`.
        """
        room = await self._claim(event, is_command=False) if is_task(lane) else None
        return await self._put(event, event, lane=lane, control=control, agent=agent, room=room)

    async def _put(
        self,
        event: MessageEvent,
        said: MessageEvent,
        *,
        lane: str,
        control: bool,
        agent: str | None,
        busy: BusyPolicy | None = None,
        group: InGroup | None = None,
        room: InboxPlace | None = None,
        press: Press | None = None,
    ) -> Acceptance:
        chosen = said if not agent else msgspec.structs.replace(said, agent=agent)
        try:
            identity = _identity(event)
        except BadRequest:
            if room is not None:
                room.settle()
            raise
        message = NewMessage(
            id=self._make_id("m"),
            lane=lane,
            event=chosen,
            identity=identity,
            received_at=self._clock.now(),
            control=control,
            busy=busy or self._policy(event),
            steers=busy is BusyPolicy.STEER and not control,
            group=group,
            denies=not control and busy is None and self._denies(event),
            share=None if room is None else room.share,
            press=press,
        )

        def kept(result: AcceptResult) -> None:
            if room is not None:
                room.settle()
            # A repeated message has already woken its lane. Whether it waits or is about to become
            # part of a turn, it is not new and stops nothing.
            if not result.duplicate and result.state is MessageState.NEW:
                self._signals.arrived(lane, message_id=result.message_id, busy=message.busy)
                if self._mark is not None and not control:
                    self._mark(event, "seen")
            for waiting in result.wakes:
                self._signals.wake_lane(waiting)

        try:
            result = await self._keep(message, kept)
        finally:
            if room is not None:
                room.settle()
        if result.duplicate:
            await self._note_duplicate(result.message_id)
        return Acceptance(
            message_id=result.message_id,
            duplicate=result.duplicate,
            is_new=not result.duplicate and result.state is MessageState.NEW,
            denied=result.denied,
        )

    async def _keep(
        self, message: NewMessage, kept: Callable[[AcceptResult], None]
    ) -> AcceptResult:
        try:
            return await self._store.inbox.accept(message, kept=kept)
        except Skipped as error:
            raise await self._skipped(message.event, error) from None
        except StoreDamaged:
            raise
        except StoreRejected as error:
            raise BadRequest(f"the message cannot be stored: {error}") from error

    async def refuse(
        self, platform: str, error: HermesError, *, external_id: str | None = None
    ) -> str | None:
        """Record an authenticated refusal, best effort.

        Returns the id for `hermes why`, or None if nothing could be recorded: on a full disk, and
        while very many are refused.
        """
        if isinstance(error, Skipped | RateLimited) and error.refusal is not None:
            return error.refusal
        refusal = RefusedMessage(
            id=self._make_id("r"),
            at=self._clock.now(),
            platform=platform,
            code=error.code,
            text=str(error)[:500],
            external_id=external_id,
        )
        if self._notes >= _NOTES_IN_FLIGHT or self._store.writable() is not None:
            return None
        self._notes += 1
        try:
            await self._store.inbox.refuse(refusal, keep=self._settings.refusals_kept)
        except (StoreError, StorageFull) as problem:
            _log.warning("refusal_not_noted", refusal=refusal.id, problem=str(problem))
            return None
        finally:
            self._notes -= 1
        return refusal.id

    def _busy_of(self, written: TypedCommand, event: MessageEvent) -> BusyPolicy | None:
        """Return what the text after a command does to a running turn, if it is a message.

        Without the right to use the command it is none: it is refused beside the lane, like any
        other.
        """
        busy = _MESSAGES.get(written.name) if written.argument else None
        if busy is None or not self._may_use(written.name, event.source):
            return None
        return busy

    async def _decides(self, event: MessageEvent, lane: str) -> bool:
        """Return whether a plain yes or no decides a pending approval."""
        if plain_answer(event.text) is None:
            return False
        return await self._store.approvals.waiting(lane) is not None

    async def _check_room(self, event: MessageEvent) -> None:
        if self.draining:
            raise Overloaded("Hermes is stopping; send this again in a moment", FULL_RETRY_S)
        if event.source.platform in self._paused:
            raise Overloaded(
                f"{event.source.platform} is paused by its operator; send this again later",
                _PAUSED_RETRY_S,
            )
        problem = self._store.writable()
        if problem is not None:
            raise StorageFull(problem, retry_after=30.0)
        if await self._replies_waiting(event.source.platform) >= self._outbox_limit:
            raise Overloaded(
                "too many replies are waiting to be delivered (outbox.max_waiting)", FULL_RETRY_S
            )

    async def _replies_waiting(self, platform: str) -> int:
        """Return how many replies wait on a platform; cached while there is much space."""
        if platform not in self._pushed:
            return 0
        at, count = self._counted.get(platform, (-_COUNT_EVERY_S, self._outbox_limit))
        now = self._clock.monotonic()
        if now - at >= _COUNT_EVERY_S or self._outbox_limit - count < _MUCH_ROOM:
            count = await self._store.outbox.waiting(platform)
            self._counted[platform] = (now, count)
        return count

    async def _person_id(self, event: MessageEvent) -> str | None:
        """Return who wrote, if a rule needs it."""
        if not self._roster.asks_for_people:
            return None
        return (
            await self._store.users.channel_access(event.source.platform, event.source.user_id)
        ).person_id

    def _policy(self, event: MessageEvent) -> BusyPolicy:
        if event.internal:
            return BusyPolicy.QUEUE
        platform = event.source.platform
        chosen = of_channel(self._busy.platforms, platform) or self._busy.default
        if chosen is not None:
            return BusyPolicy(chosen)
        return self._manifests.get(platform, BusyPolicy.INTERRUPT)

    def _denies(self, event: MessageEvent) -> bool:
        """Return whether a message denies an approval that its conversation waits for.

        Under the other policies the person is told what their message waits for.
        """
        return event.denies_approval or self._policy(event) is BusyPolicy.INTERRUPT

    async def _note_duplicate(self, message_id: str) -> None:
        if self._notes >= _NOTES_IN_FLIGHT:
            return
        self._notes += 1
        try:
            await self._store.inbox.note(message_id, TimelineEvent("duplicate", self._clock.now()))
        except (StoreError, StorageFull) as problem:
            _log.warning("duplicate_not_noted", message_id=message_id, problem=str(problem))
        finally:
            self._notes -= 1


def _identity(event: MessageEvent) -> bytes:
    """Return what makes two bodies with one id equal.

    The time, the raw event, the token and its rights, the key of the content, the handle for replies and
    what becomes of an open approval do not count.
    """
    # Two statements, so that most messages are copied once.
    bare = msgspec.structs.replace(
        event, at=0.0, raw=NO_RAW, token="", content_key="", may_delegate=False, handle=None
    )
    if bare.denies_approval:
        bare = msgspec.structs.replace(bare, denies_approval=False)
    try:
        return _encode(bare)
    except UnicodeEncodeError as error:
        raise BadRequest("the message holds a lone surrogate, which is not text") from error


def _without_command(
    event: MessageEvent, written: TypedCommand, *, is_queued: bool
) -> MessageEvent:
    """Return the message in `/queue TEXT` or `/steer TEXT`."""
    others = tuple(part for part in event.parts if not isinstance(part, TextPart))
    parts = (TextPart(written.argument), *others)
    return msgspec.structs.replace(event, parts=parts, is_queued=is_queued)


def _is_for_model(written: TypedCommand | None) -> bool:
    """Return whether a model answers: no command was written, or one that runs a skill."""
    return written is None or (written.spec is not None and written.spec.is_skill)
