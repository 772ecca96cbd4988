"""Stage: ends a turn in one transaction, then notifies the watchers."""

from collections.abc import Callable, Collection, Iterator
from typing import Protocol

import msgspec
import structlog

from hermes.calls.context_fit import fixed_tokens
from hermes.errors import GuardFailed, StorageFull, StoreError, StoreRejected
from hermes.graph.records import Link
from hermes.message.chat import UNANSWERED, ChatMessage
from hermes.message.outcome import DeliveryState, Outcome
from hermes.message.parts import Part, TextPart, files_of
from hermes.message.reply import STOPPED, Reply
from hermes.message.rewind import Rewind
from hermes.message.session_key import base_lane, graph_name, is_background
from hermes.message.thoughts import thoughts_in
from hermes.people.credits import charge_for
from hermes.pipeline.background import mirrors_of, under_task
from hermes.pipeline.exchange import (
    has_answer,
    is_answered,
    is_going_on,
    left_at,
    pending_call,
    pending_calls,
    said_so_far,
)
from hermes.pipeline.follow_ups import has_used_joined
from hermes.pipeline.graph_notes import note_tool
from hermes.pipeline.history_fit import said_tokens, sent_tokens
from hermes.pipeline.message_notes import said_parts
from hermes.pipeline.needs import (
    HasClock,
    HasOutbox,
    HasSettings,
    HasWatch,
    KnowsIds,
    Sleep,
    StageContext,
    TimelineWriter,
)
from hermes.pipeline.observer import Trace
from hermes.pipeline.scheduled_replies import for_schedule
from hermes.pipeline.targets import reply_id, target_of, vanish_after
from hermes.pipeline.turn import Turn
from hermes.ports.compaction import ASKED, COMPACT
from hermes.ports.memory import EXTRACT, NewJob
from hermes.ports.outbox import NewDelivery
from hermes.ports.spend import SpendEntry
from hermes.ports.steps import Lease, Step, StepFacts, TimelineEvent
from hermes.ports.transcripts import Compaction, TranscriptEntry
from hermes.ports.turns import SHOWN_CHARS, Commit, CutReason, Interaction, TurnResult
from hermes.ports.upward import Progress
from hermes.routing.plan import Candidate, candidate_named
from hermes.sessions.compaction_rules import CompactionRules, rules_of
from hermes.tools.executor import denied

_RETRY_S = 0.5
_CUT: dict[str, CutReason] = {"length": "length", "refusal": "refusal"}
# No context is so small that fewer tokens are worth a summary.
_LEAST_TOKENS = 500
_log = structlog.get_logger(__name__)


class SaveJournal(TimelineWriter, Protocol):
    """Hands over all that is not written yet."""

    lease: Lease | None

    @property
    def steps(self) -> tuple[Step, ...]: ...
    @property
    def begun(self) -> bool: ...
    @property
    def trace(self) -> Trace | None: ...
    async def begin(self, turn: Turn) -> None: ...
    def take_ended(self) -> tuple[Step, ...]: ...
    def take_spent(self) -> tuple[SpendEntry, ...]: ...
    def take_events(self) -> tuple[TimelineEvent, ...]: ...
    def take_children(self) -> tuple[str, ...]: ...


class CommitsTurns(Protocol):
    """Writes the end of a turn."""

    async def commit(self, lease: Lease, commit: Commit) -> None: ...


class CommitStore(Protocol):
    """A store that ends turns."""

    @property
    def turns(self) -> CommitsTurns: ...


class EndObserver(Protocol):
    """Is notified how a turn ended."""

    def ended(self, turn: Turn, reply: Reply, *, result: TurnResult, trace: Trace) -> None: ...


class EndHooks(Protocol):
    """Tells hooks how a turn or a session ended."""

    def ended(self, turn: Turn, reply: Reply, /) -> None: ...
    def session_ended(self, lane: str, reason: str, /) -> None: ...


class HasRooms(Protocol):
    """Knows how much of a model's context a prompt may take."""

    def room_of(self, candidate: Candidate, person_id: str, /) -> int | None: ...


class SaveServices(HasSettings, HasClock, HasOutbox, HasWatch, KnowsIds, Protocol):
    """What `save` uses: the store, and the observers of the end."""

    @property
    def store(self) -> CommitStore: ...
    @property
    def calls(self) -> HasRooms: ...
    @property
    def wake_jobs(self) -> Callable[[], None]: ...
    @property
    def sleep(self) -> Sleep: ...
    @property
    def observer(self) -> EndObserver: ...
    @property
    def hooks(self) -> EndHooks | None: ...


_Context = StageContext[SaveServices, SaveJournal]


async def save(turn: Turn, reply: Reply, ctx: _Context) -> None:
    """Commit the turn's one outcome and notify its watchers."""
    if not ctx.journal.begun:
        # Nothing ran, so there is nothing to pay for: no credit is needed to be told so.
        turn = msgspec.structs.replace(turn, hold=None)
        await ctx.journal.begin(turn)
    services = ctx.services
    commit = build_commit(turn, reply, ctx)
    assert ctx.journal.lease is not None
    await commit_patiently(ctx, ctx.journal.lease, commit)
    if any(delivery.state is DeliveryState.PENDING for delivery in commit.deliveries):
        services.wake_outbox(turn.event.source.platform)
    if any(job.kind == COMPACT for job in commit.jobs):
        # The conversation may go on at once, and the context is nearly full.
        services.wake_jobs()
    result = msgspec.structs.replace(commit.result, text=reply.text)
    done = Progress(kind="done", outcome=reply.outcome, result=result)
    services.watch.publish(turn.id, done)
    for merged in commit.merged:
        services.watch.publish(merged, msgspec.structs.replace(done, outcome=Outcome.MERGED))
    _log.info(
        "turn",
        message_id=turn.id,
        outcome=reply.outcome.value,
        model=turn.model,
        ms=round((services.clock.now() - turn.received_at) * 1000),
        tokens=turn.usage.tokens_in + turn.usage.tokens_out,
    )
    services.observer.ended(turn, reply, result=result, trace=ctx.journal.trace or ())
    if services.hooks is not None:
        services.hooks.ended(turn, reply)


async def commit_patiently(ctx: _Context, lease: Lease, commit: Commit) -> None:
    """Commit; retry while the disk is full or fails, as long as the lease is held."""
    while True:
        try:
            await ctx.services.store.turns.commit(lease, commit)
        except (GuardFailed, StoreRejected):
            raise
        except (StoreError, StorageFull) as error:
            _log.error("commit_waits", message_id=commit.message_id, problem=str(error))
            await ctx.services.sleep(_RETRY_S)
        else:
            ctx.journal.lease = None
            if commit.reset_lane is not None and ctx.services.hooks is not None:
                ctx.services.hooks.session_ended(commit.reset_lane, commit.end_reason or "new")
            return


def build_commit(turn: Turn, reply: Reply, ctx: _Context) -> Commit:
    """Return everything that becomes true with the end of the turn."""
    turn = msgspec.structs.replace(
        turn,
        usage=turn.usage.plus(reply.usage),
        platform_usage=turn.platform_usage.plus(reply.platform_usage),
        model=reply.model or turn.model,
    )
    entries, reply_entry = _entries(turn, reply, ctx.services.personal_ids)
    ctx.journal.note("ended", outcome=reply.outcome.value)
    return Commit(
        message_id=turn.id,
        person_id=turn.person_id,
        outcome=reply.outcome,
        result=_result(turn, reply),
        at=ctx.services.clock.now(),
        epoch=turn.epoch,
        ended=ctx.journal.take_ended(),
        entries=entries,
        calls=turn.calls if entries else (),
        links=_links(turn, ctx) if entries else (),
        reply=ChatMessage("assistant", reply.parts),
        reply_entry=reply_entry,
        charge=charge_for(turn.hold, delivered=_earned(turn, reply)),
        deliveries=_deliveries(turn, reply, ctx),
        interaction=_interaction(turn, ctx) if base_lane(turn.lane) == turn.lane else None,
        spent=ctx.journal.take_spent(),
        merged=_merged(turn, reply),
        events=ctx.journal.take_events(),
        reset_lane=turn.lane if reply.ends else None,
        end_reason=reply.ends,
        choices=reply.choices,
        rewind=_rewind(turn, reply) if entries else reply.rewind,
        mirrors=mirrors_of(turn, reply),
        soul=turn.soul,
        jobs=_jobs(turn, reply, ctx.services, has_entries=bool(entries)),
        compaction=_new_compaction(turn) if entries else None,
        is_resumed=bool(ctx.journal.steps),
    )


def _result(turn: Turn, reply: Reply) -> TurnResult:
    """Return what the caller of the message gets."""
    return TurnResult(
        text=reply.text,
        usage=turn.usage,
        tool_calls=turn.tools_run,
        model=turn.model,
        reason=reply.reason,
        code=reply.code,
        notices=turn.notices,
        stop_reason=_CUT.get(turn.stop_reason),
        platform_usage=turn.platform_usage,
        is_partial=reply.outcome is Outcome.FAILED and reply.earned,
        files=files_of(reply.parts),
        thoughts=thoughts_in(_exchanged_parts(turn))[:SHOWN_CHARS],
    )


def _exchanged_parts(turn: Turn) -> Iterator[Part]:
    return (part for entry in turn.exchanged for part in entry.message.parts)


def _rewind(turn: Turn, reply: Reply) -> Rewind | None:
    """Return what the turn's entries take the place of."""
    if turn.retry is not None:
        return Rewind(cut=turn.retry)
    return Rewind(cut=turn.cut, is_edit=True) if turn.cut else reply.rewind


def _merged(turn: Turn, reply: Reply) -> tuple[str, ...]:
    """Return the messages that end with the turn; others that it had claimed become new again."""
    joined = turn.joined if has_used_joined(turn, reply) else ()
    return tuple(dict.fromkeys((*joined, *turn.merged)))


def _links(turn: Turn, ctx: _Context) -> tuple[Link, ...]:
    """Return the turn's links, and those to subagents whose tool was stopped with the turn."""
    children, call = ctx.journal.take_children(), pending_call(turn)
    if not children or call is None:
        return turn.links
    facts = StepFacts(children=children)
    stopped = Step(ordinal=-1, kind="tool", state="failed", name=call.name, facts=facts)
    return note_tool(turn, call.id, stopped).links


def _entries(
    turn: Turn, reply: Reply, personal_ids: Collection[str]
) -> tuple[tuple[TranscriptEntry, ...], int | None]:
    """Return the transcript's new entries, and which of them is the reply."""
    opening = _opening(turn, reply, personal_ids)
    if opening is None:
        return (), None
    entries = (*opening, *_used(turn, reply), *_unanswered(turn))
    if reply.outcome is Outcome.INTERRUPTED and reply.parts:
        if is_going_on(turn):
            return (*entries, *left_at(turn, reply.text).exchanged[len(turn.exchanged) - 1 :]), None
        partial = ChatMessage("assistant", reply.parts)
        return (*entries, TranscriptEntry(partial)), len(entries)
    last = entries[-1].message if entries else None
    if reply.outcome is Outcome.ANSWERED and last is not None:
        is_reply = last.role == "assistant" and last.parts == reply.parts
        return entries, len(entries) - 1 if is_reply else None
    return entries, None


def _opening(
    turn: Turn, reply: Reply, personal_ids: Collection[str]
) -> tuple[TranscriptEntry, ...] | None:
    """Return what a turn's entries begin with, or None if it leaves none."""
    if reply.outcome in (Outcome.EXPIRED, Outcome.REFUSED):
        return None
    if turn.retry is None:
        return None if turn.user is None else (TranscriptEntry(_asked(turn, reply, personal_ids)),)
    # Without another answer, the one that is there stands.
    is_better = reply.outcome is Outcome.INTERRUPTED or (reply.earned and is_answered(turn))
    return () if is_better else None


def _asked(turn: Turn, reply: Reply, personal_ids: Collection[str]) -> ChatMessage:
    """Return the turn's own message; messages that it did not use get their own turns."""
    assert turn.user is not None
    user = turn.user
    if turn.own is not None and not has_used_joined(turn, reply):
        user = ChatMessage("user", said_parts(turn.own, personal_ids))
    if reply.outcome is Outcome.FAILED and not has_answer(turn) and not turn.calls:
        # Later prompts need not repeat it; people still find it.
        return ChatMessage("user", (*user.parts, UNANSWERED))
    return user


def _used(turn: Turn, reply: Reply) -> tuple[TranscriptEntry, ...]:
    """Return what was exchanged without steered-in messages that no answer followed.

    They become new again, and have their place in the transcript by their own turns.
    """
    exchanged = turn.exchanged
    if not has_answer(turn) and has_used_joined(turn, reply):
        # These were asked along with the turn's own message, and stopped with it.
        return exchanged
    end = len(exchanged)
    while end and exchanged[end - 1].message.role == "user":
        end -= 1
    return exchanged[:end]


def _unanswered(turn: Turn) -> tuple[TranscriptEntry, ...]:
    """Return a result for every tool call that was not run: models insist on one."""
    return tuple(
        TranscriptEntry(ChatMessage("tool", (denied(call, "the turn was stopped"),)))
        for call in pending_calls(turn)
    )


def _earned(turn: Turn, reply: Reply) -> bool:
    """Return whether the person got model text or tool output for their credit."""
    said = any(entry.message.role == "assistant" and entry.message.text for entry in turn.exchanged)
    return reply.earned or (said and reply.outcome is Outcome.INTERRUPTED)


def _stopped(turn: Turn, reply: Reply) -> tuple[Part, ...]:
    """Return what a stopped turn leaves standing: the last that was shown, and a word on it."""
    shown = reply.text or said_so_far(turn)
    return (TextPart(f"{shown}\n\n{STOPPED}" if shown else STOPPED),)


def _deliveries(turn: Turn, reply: Reply, ctx: _Context) -> tuple[NewDelivery, ...]:
    if turn.event.internal or reply.silent:
        return ()
    platform = turn.event.source.platform
    state = ctx.services.first_state(platform)
    parts: tuple[Part, ...] | None = None
    is_beside = is_background(turn.lane)
    is_cut = reply.outcome is Outcome.INTERRUPTED and not reply.is_notice
    if is_cut and (is_beside or state is DeliveryState.PENDING):
        parts = _stopped(turn, reply)
    if is_beside:
        parts = under_task(turn, parts or reply.parts)
    display = ctx.services.settings.display
    delivery = NewDelivery(
        id=reply_id(turn.id),
        target=target_of(turn.event),
        parts=parts,
        state=state,
        offer=reply.offer if parts is None else None,
        vanish_s=vanish_after(display, platform) if reply.is_passing else 0.0,
    )
    if turn.event.scheduled is not None:
        delivery = for_schedule(delivery, turn, reply, settings=ctx.services.settings.cron)
    return (delivery,)


def _interaction(turn: Turn, ctx: _Context) -> Interaction:
    return Interaction(
        agent=turn.agent.key,
        platform=turn.event.source.platform,
        llm_backend=turn.model,
        llm_cache_hit=turn.is_from_memory,
        soul_load_ms=turn.soul_ms,
        semantic_recall_used=turn.has_recalled,
        tools=tuple(use.name for use in turn.tools_run),
        tool_exec_ms=turn.tool_ms,
        usage=turn.usage,
        platform_usage=turn.platform_usage,
        took_s=max(0.0, ctx.services.clock.now() - turn.received_at),
    )


def _new_compaction(turn: Turn) -> Compaction | None:
    """Return what the turn put in the place of older messages, if it did that itself."""
    made = turn.compaction
    return made if made is not None and made.version is None else None


def _jobs(
    turn: Turn, reply: Reply, services: SaveServices, *, has_entries: bool
) -> tuple[NewJob, ...]:
    """Return the work that the turn leaves behind."""
    if reply.compacts:
        return (compaction_job(turn, at=services.clock.now(), asked=True),)
    if not has_entries:
        return ()
    jobs = (_extraction(turn, services), _compacting(turn, services))
    return tuple(job for job in jobs if job is not None)


def _compacting(turn: Turn, services: SaveServices) -> NewJob | None:
    """Return the job that sums up a conversation whose last call nearly filled the context.

    Some services report too little, such as tokens without those from their cache, or none at all.
    """
    if not turn.calls or turn.event.internal or turn.event.history:
        return None
    usage, model = turn.calls[-1].usage, turn.calls[-1].model
    room = services.calls.room_of(candidate_named(model), turn.person_id)
    rules = rules_of(services.settings, turn.agent.key)
    if room is None or not rules.on:
        return None
    # The tokens are counted only where characters alone do not show that there are too few.
    least = max(_LEAST_TOKENS, rules.due_tokens(room))
    reported = usage.tokens_in + usage.tokens_out
    seen = max(reported, sent_tokens(turn, least=least))
    if seen < least or not _is_due(turn, rules, room=room, seen=seen):
        return None
    return compaction_job(turn, at=services.clock.now())


def _is_due(turn: Turn, rules: CompactionRules, *, room: int, seen: int) -> bool:
    """Return whether it is the conversation that fills the context, and enough of it can go."""
    fixed = fixed_tokens(turn.system, turn.tools)
    if seen < rules.due_tokens(room, fixed=fixed):
        return False
    return rules.is_worthwhile(room, said=said_tokens(turn))


def compaction_job(turn: Turn, *, at: float, asked: bool = False) -> NewJob:
    """Return the job that sums up a turn's conversation."""
    key = f"{COMPACT}:{graph_name(turn.lane, turn.epoch)}"
    return NewJob(
        kind=COMPACT,
        key=f"{key}:{ASKED}" if asked else key,
        lane=turn.lane,
        epoch=turn.epoch,
        person_id=turn.person_id,
        due_at=at,
        latest_at=at,
        is_patient=not asked,
    )


def _extraction(turn: Turn, services: SaveServices) -> NewJob | None:
    """Return the job of a turn's session and person, if facts are learnt at all.

    Nothing is learnt from subagents, from temporary conversations, nor from programs, whose words are
    not a person's own.
    """
    settings, event = services.settings.memory, turn.event
    if not settings.extract or event.internal or event.key is not None or event.history:
        return None
    if event.scheduled is not None or turn.is_temporary:
        return None
    now = services.clock.now()
    return NewJob(
        kind=EXTRACT,
        key=f"{EXTRACT}:{graph_name(turn.lane, turn.epoch)}:{turn.person_id}",
        lane=turn.lane,
        epoch=turn.epoch,
        person_id=turn.person_id,
        due_at=now + settings.extract_pause_s,
        latest_at=now + settings.extract_after_s,
    )
