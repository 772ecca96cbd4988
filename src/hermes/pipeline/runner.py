"""One message of a lane, from the view of it to its commit."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext

import msgspec
import structlog

from hermes.message.event import MessageEvent
from hermes.message.outcome import MessageState, Outcome
from hermes.message.reply import Reply
from hermes.message.session_key import is_task, root_lane
from hermes.pipeline import replies
from hermes.pipeline.answer_media import with_attachments
from hermes.pipeline.background import choices_of
from hermes.pipeline.children import parent_of
from hermes.pipeline.close_follow_ups import (
    arrived_before,
    follows_closely,
    join_closely,
    watch_closely,
)
from hermes.pipeline.comebacks import given_up
from hermes.pipeline.commands.control_commands import ControlPlane, run_command
from hermes.pipeline.commands.reload import with_note
from hermes.pipeline.follow_ups import takes_more
from hermes.pipeline.interrupts import TIME_LIMIT, Arrivals, Interrupt, TimeLimit
from hermes.pipeline.journal import Journal
from hermes.pipeline.plan import END, PREPARE, next_stage
from hermes.pipeline.reader_language import speak_with
from hermes.pipeline.resume import restore, tell_of_cut
from hermes.pipeline.scheduled_replies import end_scheduled
from hermes.pipeline.services import Services, TurnContext
from hermes.pipeline.session_ends import notices_of, tell_notices
from hermes.pipeline.stages.join_follow_ups import has_company
from hermes.pipeline.stages.load_history import load_history
from hermes.pipeline.stages.load_soul import load_soul
from hermes.pipeline.stages.save import build_commit, commit_patiently
from hermes.pipeline.streamed_text import is_awaited
from hermes.pipeline.targets import reply_id, target_of
from hermes.pipeline.turn import Turn
from hermes.ports.sends import MIRROR
from hermes.ports.transcripts import TranscriptEntry
from hermes.ports.turns import LaneView, MessageRecord, TurnResult
from hermes.ports.upward import Progress
from hermes.texts.say import say

_log = structlog.get_logger(__name__)
# A limit of 0 would be none.
_NO_TIME_S = 0.001
_NOBODY: AbstractAsyncContextManager[object] = nullcontext()
Prepare = Callable[[], Awaitable[tuple[Turn, Reply | None]]]


class TurnRunner:
    """Runs turns; holds no state of its own."""

    def __init__(self, services: Services, *, plane: ControlPlane) -> None:
        self._services = services
        self._plane = plane

    def context(self, view: LaneView, *, after_stop: bool = False) -> TurnContext:
        """Return the journal and the stop switch of a new attempt at a turn."""
        services = self._services
        journal = Journal(
            services.store,
            view,
            owner=services.owner,
            clock=services.clock,
        )
        if services.observer.traces:
            journal.trace = []
        if services.hooks is not None:
            journal.heard = services.hooks.steps_of(view)
        interrupt = Interrupt()
        if view.message is not None and takes_more(view.message, services):
            interrupt.gathering = Arrivals(is_after_stop=after_stop)
        return TurnContext(services, journal, interrupt)

    async def run(self, view: LaneView, ctx: TurnContext, *, tell_expired: bool) -> Outcome:
        """Bring the view's message to its outcome."""
        assert view.message is not None
        message = view.message
        if message.event is None:
            return await self.abandon(view, Outcome.REFUSED)
        turn = await self._turn(view, message)
        if is_mirror(message.event):
            return (await write_mirror(turn, ctx)).outcome
        ending = await self._ending(view, message, ctx=ctx, tell=tell_expired)
        if message.control and ending is None:
            return await self._run_command(turn, ctx)
        if turn.notices:
            await tell_notices(turn, self._services)
        restored = await restore(turn, view.steps, ctx) if view.steps else None
        if restored is not None:
            turn, told = tell_of_cut(restored, ctx)
            await ctx.journal.begin(turn, first=told)
        reply: Reply | None = ending
        if reply is None:
            with self._time_limit(turn, ctx):
                turn, reply = await self._answer(turn, ctx, is_prepared=restored is not None)
            reply = _once_told(reply, tell_expired=tell_expired)
        if turn.event.scheduled is not None:
            reply = await end_scheduled(turn, reply, ctx)
        await self._end(turn, await self._with_what_was_shown(reply, view), ctx)
        if not message.control:
            self._services.mark(turn.event, "done")
        return reply.outcome

    async def _answer(
        self, turn: Turn, ctx: TurnContext, *, is_prepared: bool
    ) -> tuple[Turn, Reply]:
        own, noted = turn, ctx.journal.noted
        if not is_prepared:
            turn, reply = await self._prepare(own, ctx, noted=noted)
            if reply is not None:
                return (with_note(turn, reply) if reply.note else turn), reply
        async with self._working(turn):
            return await self._act(turn, ctx, again=lambda: self._prepare(own, ctx, noted=noted))

    def _time_limit(self, turn: Turn, ctx: TurnContext) -> TimeLimit:
        """Return the time limit of this attempt at a turn; an earlier one had its own."""
        services = self._services
        own = turn.agent.settings.turn_limit_s
        limit_s = services.settings.turns.limit_s if own is None else own
        task = turn.event.delegation
        if task is not None and task.until is not None:
            left_s = max(task.until - services.clock.now(), _NO_TIME_S)
            limit_s = min(limit_s, left_s) if limit_s else left_s
        monotonic = services.clock.monotonic
        began = monotonic()

        def stop() -> None:
            _log.warning("turn_out_of_time", message_id=turn.id)
            self._plane.interrupt(turn.lane, TIME_LIMIT, message_id=turn.id)

        return TimeLimit(
            limit_s,
            worked=lambda: monotonic() - began - ctx.journal.waited_s,
            is_held=lambda: services.questions.at(root_lane(turn.lane)) is not None,
            stop=stop,
        )

    def _working(self, turn: Turn) -> AbstractAsyncContextManager[object]:
        """Show the watchers of a turn that it is being worked on."""
        if not is_awaited(turn):
            return _NOBODY
        self._services.mark(turn.event, "working")
        return self._services.previewer.working(target_of(turn.event))

    async def _with_what_was_shown(self, reply: Reply, view: LaneView) -> Reply:
        """Return the reply as earned if an attempt before this one had shown words of the model."""
        if reply.earned or not view.steps or view.message is None:
            return reply
        shown = await self._services.store.outbox.is_shown(reply_id(view.message.id))
        return msgspec.structs.replace(reply, earned=shown)

    async def _turn(self, view: LaneView, message: MessageRecord) -> Turn:
        assert message.event is not None
        roster = self._services.roster
        person = await self._services.store.people.get(message.person_id)
        speak_with(person, message.event, self._services.settings)
        return Turn(
            id=message.id,
            lane=view.lane,
            event=message.event,
            person_id=message.person_id,
            received_at=message.received_at,
            epoch=view.epoch,
            head=view.head,
            agent=await roster.find(message.event.agent or "") or roster.default,
            is_temporary=view.is_temporary,
            choices=await choices_of(view, self._services),
            notices=() if message.control else notices_of(view, self._services),
        )

    async def _ending(
        self, view: LaneView, message: MessageRecord, *, ctx: TurnContext, tell: bool
    ) -> Reply | None:
        ending = await self._early_end(view, message, tell=tell)
        if ending is not None and await self._is_only_followed(view, message, ending):
            ctx.interrupt.gathering = arrived_before(view.interrupted_by or "")
            return None
        if ending is None or not _was_stopped_unbegun(view, ending):
            return ending
        # Stopped before a crash, while it waited to begin. Its words are part of the conversation
        # all the same: it is prepared, and ends where it would have ended then.
        ctx.interrupt.press(view.interrupted_by or message.interrupted_by or "")
        return None

    async def _is_only_followed(
        self, view: LaneView, message: MessageRecord, ending: Reply
    ) -> bool:
        """Return whether a turn that a crash cut off is stopped only by what followed it closely."""
        by = view.interrupted_by
        if ending.outcome is not Outcome.INTERRUPTED or by is None or message.interrupted_by:
            return False
        return await follows_closely(message, view.steps, by=by, services=self._services)

    async def _early_end(
        self, view: LaneView, message: MessageRecord, *, tell: bool
    ) -> Reply | None:
        """Return the reply of a message that must not be worked on (any more)."""
        settings = self._services.settings
        if self._is_too_old(view, message):
            return replies.expired(tell=tell, is_begun=message.attempts > 0)
        stopped_by = (
            view.interrupted_by or message.interrupted_by or await self._stopped_parent(message)
        )
        if stopped_by is not None:
            return await self._stopped(view, stopped_by)
        gone = await self._without_agent(view, message)
        if gone is not None:
            return gone
        if message.attempts >= settings.lanes.max_attempts:
            return replies.gave_up(message.attempts)
        return given_up(
            view,
            message,
            comeback=self._services.comeback,
            max_restarts=settings.lanes.max_restarts,
        )

    async def _without_agent(self, view: LaneView, message: MessageRecord) -> Reply | None:
        """Return the end of a message whose agent is gone, or was stopped before its turn began."""
        wanted = None if message.event is None else message.event.agent
        if wanted is None:
            return None
        agent = await self._services.roster.find(wanted)
        if agent is None:
            return replies.failed(
                say("The agent that you asked for is no longer here."),
                f"agent {wanted!r} was removed",
            )
        is_begun = message.control or bool(view.steps)
        if agent.state in ("stopped", "failed") and not is_begun:
            text = say("The agent {name} is not answering at the moment.", name=repr(agent.name))
            return replies.failed(text, f"agent {wanted!r} is {agent.state}")
        return None

    async def _stopped(self, view: LaneView, by: str) -> Reply:
        """Return the end of a turn that was stopped before it went on."""
        last = view.steps[-1] if view.steps else None
        if last is not None and last.kind == "approval":
            store = self._services.store
            approval, cause = await store.approvals.get(last.name), await store.inbox.get(by)
            is_denied = approval is not None and approval.state == "denied"
            if approval is not None and is_denied and cause is not None and not cause.control:
                return replies.passed_over(approval.tool, by)
        return replies.interrupted("", by)

    def _is_too_old(self, view: LaneView, message: MessageRecord) -> bool:
        """Return whether the message is too old to answer; waiting for a person does not count."""
        if message.state is MessageState.PARKED:
            return False
        if any(step.kind == "approval" for step in view.steps):
            return False
        last = max((step.ended_at or step.at for step in view.steps), default=message.received_at)
        age = self._services.clock.now() - last
        settings = self._services.settings
        if message.attempts:
            return 0 < settings.lanes.resume_within_s < age
        return age > settings.inbox.expire_after_s

    async def _stopped_parent(self, message: MessageRecord) -> str | None:
        """Return who stopped a turn above a subagent's message, or the parent that has ended."""
        if message.event is None or not message.event.internal:
            return None
        parent_id = parent_of(message.event)
        parent = await self._services.store.inbox.get(parent_id)
        if parent is None:
            return parent_id
        if parent.state is MessageState.DONE:
            goes_on = is_task(message.lane) and parent.outcome is not Outcome.INTERRUPTED
            return None if goes_on else parent_id
        # After a crash it may not have ended yet, nor its own parent that was stopped.
        return parent.interrupted_by or await self._stopped_parent(parent)

    async def _prepare(
        self, own: Turn, ctx: TurnContext, *, noted: int
    ) -> tuple[Turn, Reply | None]:
        ctx.interrupt.is_followed = False
        turn = own
        while True:
            # What an earlier preparation has noted is done again.
            ctx.journal.unnote(noted)
            for stage in PREPARE:
                after = await stage(turn, ctx)
                if isinstance(after, Reply):
                    return turn, after
                turn = after
            if not await has_company(own, turn, ctx):
                return turn, None
            turn = own

    async def _act(self, turn: Turn, ctx: TurnContext, *, again: Prepare) -> tuple[Turn, Reply]:
        if self._services.hooks is not None:
            await self._services.hooks.started(turn, is_again=bool(ctx.journal.steps))
        while True:
            if ctx.interrupt.gathering is not None:
                turn, ended = await _joined(turn, ctx, again)
                if ended is not None:
                    return turn, ended
            stage = next_stage(turn)
            if stage is None:
                return turn, await with_attachments(replies.answered(turn), turn, ctx)
            watch_closely(turn, ctx)
            after = await stage(turn, ctx)
            if isinstance(after, Reply):
                return turn, after
            turn = after

    async def _run_command(self, turn: Turn, ctx: TurnContext) -> Outcome:
        reply, commit = await run_command(turn, ctx, self._plane)
        platform = turn.event.source.platform
        if commit.deliveries:
            self._services.wake_outbox(platform)
        result = msgspec.structs.replace(commit.result, text=reply.text)
        self._services.watch.publish(
            turn.id, Progress(kind="done", outcome=reply.outcome, result=result)
        )
        return reply.outcome

    async def fail(self, view: LaneView, ctx: TurnContext, *, cause: str) -> None:
        """End a message whose turn failed with an unexpected error."""
        assert view.message is not None
        assert view.message.event is not None
        turn = await self._turn(view, view.message)
        reply = replies.failed(say("Something broke on my side. Please try again."), cause)
        await self._end(turn, reply, ctx)

    async def _end(self, turn: Turn, reply: Reply, ctx: TurnContext) -> None:
        await END(turn, reply, ctx)
        self._services.questions.forget(turn.id)

    async def abandon(self, view: LaneView, outcome: Outcome) -> Outcome:
        """End a message without words: its person was erased, or it cannot be committed."""
        assert view.message is not None
        _log.warning("abandoned", message_id=view.message.id, outcome=outcome.value)
        await self._services.store.turns.abandon(view.message.id, outcome)
        self._services.questions.forget(view.message.id)
        if self._services.hooks is not None:
            self._services.hooks.abandoned(view, outcome)
        ended = Progress(kind="done", outcome=outcome, result=TurnResult(text=""))
        self._services.watch.publish(view.message.id, ended)
        return outcome


async def _joined(turn: Turn, ctx: TurnContext, again: Prepare) -> tuple[Turn, Reply | None]:
    """Return the turn with what followed it; one that is not written yet is prepared again."""
    if ctx.journal.begun:
        return await join_closely(turn, ctx), None
    return await again()


def _was_stopped_unbegun(view: LaneView, ending: Reply) -> bool:
    """Return whether a person's message ends because it was stopped before it was prepared."""
    message = view.message
    if ending.outcome is not Outcome.INTERRUPTED or message is None or message.event is None:
        return False
    is_prepared = any(step.kind == "prepared" for step in view.steps)
    return not is_prepared and not message.control and not message.event.internal


def _once_told(reply: Reply, *, tell_expired: bool) -> Reply:
    """Return the reply; silent if it expired and the chat was just notified of another one."""
    if reply.outcome is not Outcome.EXPIRED or tell_expired:
        return reply
    return msgspec.structs.replace(reply, silent=True)


def is_mirror(event: MessageEvent) -> bool:
    """Return whether an event is not a message but a record of a delivery into its chat."""
    return event.internal and event.route == MIRROR


async def write_mirror(turn: Turn, ctx: TurnContext) -> Reply:
    """Add what was delivered to the session, and return what that was."""
    (said,) = turn.event.history
    reply = Reply(parts=said.parts, silent=True)
    turn = await _with_soul(turn, ctx)
    ctx.journal.note("mirrored", delivery=turn.event.external_id.rpartition(".")[0])
    await ctx.journal.begin(turn)
    commit = msgspec.structs.replace(
        build_commit(turn, reply, ctx),
        entries=(TranscriptEntry(said),),
        reply=said,
        reply_entry=0,
        interaction=None,
    )
    assert ctx.journal.lease is not None
    await commit_patiently(ctx, ctx.journal.lease, commit)
    done = Progress(kind="done", outcome=reply.outcome, result=commit.result)
    ctx.services.watch.publish(turn.id, done)
    return reply


async def _with_soul(turn: Turn, ctx: TurnContext) -> Turn:
    """Give a session that begins with this event the same blocks about its person as any other."""
    # As if the person had written: a soul is kept for them, and no words of theirs.
    heard = msgspec.structs.replace(turn.event, internal=False, history=())
    begun = await load_history(msgspec.structs.replace(turn, event=heard), ctx)
    if isinstance(begun, Reply) or begun.history:
        return turn
    told = await load_soul(begun, ctx)
    return turn if isinstance(told, Reply) else msgspec.structs.replace(turn, soul=told.soul)
