"""`save` alone: what becomes true with the end of a turn, and who is told of it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import pytest

from hermes.config import CompactionSettings, MemorySettings, Settings
from hermes.errors import LeaseLost, StorageFull, StoreError, StoreRejected
from hermes.message.chat import UNANSWERED, ChatMessage
from hermes.message.event import ScheduledRun
from hermes.message.outcome import DeliveryState, Outcome
from hermes.message.parts import TextPart, ToolCallPart
from hermes.message.reply import Reply, Usage
from hermes.message.rewind import Rewind
from hermes.pipeline.observer import Trace
from hermes.pipeline.stages.save import save
from hermes.pipeline.turn import Turn
from hermes.ports.outbox import NewDelivery
from hermes.ports.steps import Lease
from hermes.ports.transcripts import Compaction, NewCall
from hermes.ports.turns import Charge, Commit, CreditHold, TurnResult
from hermes.routing.plan import Candidate
from hermes.testing.manual_time import ManualClock
from tests.unit.pipeline.stage_parts import (
    LANE,
    LEASE,
    NOW,
    Context,
    KeptJournal,
    KeptWatch,
    asking,
    make_event,
    make_turn,
    said,
    with_rounds,
)

HELLO = said("assistant", "Hello Ann")
UNANSWERED_HELLO = ChatMessage("user", (TextPart("hello"), UNANSWERED))
ANSWER = Reply(parts=HELLO.parts, earned=True)
HOLD = CreditHold("p_ann", 3)
LEARNING = Settings(memory=MemorySettings(extract=True))


class Turns:
    """Takes commits; raises what it was given first."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.commits: list[tuple[Lease, Commit]] = []

    async def commit(self, lease: Lease, commit: Commit) -> None:
        if self._errors:
            raise self._errors.pop(0)
        self.commits.append((lease, commit))


class Listener:
    """Fits the observer and the hooks: keeps what it hears."""

    def __init__(self) -> None:
        self.turns: list[str] = []
        self.sessions: list[tuple[str, str]] = []

    def session_ended(self, lane: str, reason: str, /) -> None:
        self.sessions.append((lane, reason))


class Observer(Listener):
    def ended(self, turn: Turn, reply: Reply, *, result: TurnResult, trace: Trace) -> None:
        self.turns.append(result.text)


class Hooks(Listener):
    def ended(self, turn: Turn, reply: Reply, /) -> None:
        self.turns.append(reply.text)


@dataclass(frozen=True)
class Store:
    turns: Turns = field(default_factory=Turns)


def _pushed(_platform: str) -> DeliveryState:
    return DeliveryState.PENDING


def _pulled(_platform: str) -> DeliveryState:
    return DeliveryState.SENT


class Rooms:
    """Every model has room for a prompt of so many tokens."""

    def room_of(self, candidate: Candidate, person_id: str) -> int | None:
        return 1_000


@dataclass(frozen=True)
class Services:
    store: Store = field(default_factory=Store)
    settings: Settings = LEARNING
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))
    watch: KeptWatch = field(default_factory=KeptWatch)
    observer: Observer = field(default_factory=Observer)
    hooks: Hooks | None = field(default_factory=Hooks)
    woken: list[str] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    first_state: Callable[[str], DeliveryState] = _pushed
    calls: Rooms = field(default_factory=Rooms)
    personal_ids: frozenset[str] = frozenset()

    @property
    def wake_jobs(self) -> Callable[[], None]:
        return lambda: self.woken.append("jobs")

    @property
    def wake_outbox(self) -> Callable[[str], None]:
        return self.woken.append

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def context(
    *errors: Exception, services: Services | None = None, begun: bool = True
) -> Context[Services]:
    services = services or Services(Store(Turns(*errors)))
    return Context(services, KeptJournal(lease=LEASE if begun else None))


def committed(ctx: Context[Services]) -> Commit:
    ((lease, commit),) = ctx.services.store.turns.commits
    assert lease == LEASE
    return commit


def answered(turn: Turn | None = None) -> Turn:
    turn = msgspec.structs.replace(turn or make_turn(), user=said("user", "hello"), hold=HOLD)
    return turn.plus(HELLO, ordinal=1)


def delivery_of(commit: Commit) -> NewDelivery:
    (delivery,) = commit.deliveries
    return delivery


@pytest.mark.req("J10", "J11")
async def test_j10_one_commit_holds_outcome_words_credit_and_delivery() -> None:
    ctx = context()

    await save(answered(), ANSWER, ctx)

    commit = committed(ctx)
    assert (commit.outcome, commit.result.text) == (Outcome.ANSWERED, "Hello Ann")
    assert [entry.message for entry in commit.entries] == [said("user", "hello"), HELLO]
    assert (commit.reply, commit.reply_entry) == (HELLO, 1)
    assert commit.charge == Charge(person_id="p_ann", amount=3, captured=True)
    delivery = delivery_of(commit)
    assert (delivery.id, delivery.state, delivery.parts) == ("o_1", DeliveryState.PENDING, None)
    assert commit.interaction is not None
    assert ctx.journal.lease is None


@pytest.mark.req("A14")
async def test_a14_what_the_person_said_is_left_to_be_learnt_from() -> None:
    ctx = context()

    await save(answered(), ANSWER, ctx)

    (job,) = committed(ctx).jobs
    assert (job.key, job.due_at) == (
        f"extract:{LANE}#0:p_ann",
        NOW + LEARNING.memory.extract_pause_s,
    )


@pytest.mark.req("A14")
async def test_a14_nothing_is_learnt_from_programs_subagents_jobs_or_where_it_is_off() -> None:
    job = ScheduledRun(job="j", due_at=NOW)
    events = [
        make_event(internal=True),
        make_event(key="k_1"),
        msgspec.structs.replace(make_event(), scheduled=job),
        msgspec.structs.replace(make_event(), history=(HELLO,)),
    ]
    off = Settings(memory=MemorySettings(extract=False))
    runs = [(Services(), event) for event in events] + [(Services(settings=off), make_event())]

    for services, event in runs:
        ctx = context(services=services)
        await save(answered(make_turn(event)), ANSWER, ctx)
        assert committed(ctx).jobs == ()


@pytest.mark.req("W19", "W36")
async def test_everybody_is_told_once_the_commit_is_done() -> None:
    ctx = context()

    await save(answered(), ANSWER, ctx)

    services = ctx.services
    ((name, progress),) = services.watch.published
    assert (name, progress.kind, progress.outcome) == ("m_1", "done", Outcome.ANSWERED)
    assert services.woken == ["telegram"]
    assert services.observer.turns == ["Hello Ann"]
    assert services.hooks is not None
    assert services.hooks.turns == ["Hello Ann"]


@pytest.mark.req("J13", "W20")
async def test_j13_messages_that_were_part_of_the_turn_end_with_it() -> None:
    ctx = context()
    turn = msgspec.structs.replace(answered(), joined=("m_2",), merged=("m_3",))

    await save(turn, ANSWER, ctx)

    assert committed(ctx).merged == ("m_2", "m_3")
    ends = [(name, one.outcome) for name, one in ctx.services.watch.published]
    assert ends[1:] == [("m_2", Outcome.MERGED), ("m_3", Outcome.MERGED)]


@pytest.mark.req("J13")
async def test_j13_messages_that_a_failed_turn_did_not_use_become_new_again() -> None:
    ctx = context()
    turn = msgspec.structs.replace(
        make_turn(make_event("hello\nand")),
        user=said("user", "hello\nand"),
        own=make_event("hello"),
        joined=("m_2",),
    )

    await save(turn, Reply(parts=(), outcome=Outcome.FAILED), ctx)

    commit = committed(ctx)
    assert commit.merged == ()
    assert [entry.message for entry in commit.entries] == [UNANSWERED_HELLO]


@pytest.mark.req("A6", "J11")
async def test_a6_where_nothing_was_earned_the_credit_goes_back() -> None:
    ctx = context()
    turn = msgspec.structs.replace(make_turn(), user=said("user", "hello"), hold=HOLD)

    await save(turn, Reply(parts=(TextPart("Sorry"),), outcome=Outcome.FAILED), ctx)

    commit = committed(ctx)
    assert commit.charge == Charge(person_id="p_ann", amount=3, captured=False)
    assert [entry.message for entry in commit.entries] == [UNANSWERED_HELLO]


@pytest.mark.req("J11")
async def test_j11_a_turn_that_never_began_is_begun_without_a_hold() -> None:
    ctx = context(begun=False)
    turn = msgspec.structs.replace(make_turn(), user=said("user", "hello"), hold=HOLD)

    await save(turn, Reply(parts=(TextPart("No."),), outcome=Outcome.REFUSED), ctx)

    assert [one.hold for one in ctx.journal.begins] == [None]
    commit = committed(ctx)
    assert (commit.charge, commit.entries, commit.jobs) == (None, (), ())


@pytest.mark.req("J12")
async def test_j12_a_stopped_turn_keeps_what_was_shown_and_answers_its_open_calls() -> None:
    ctx = context()
    call = ToolCallPart("c1", "look", "{}")
    turn = asking(msgspec.structs.replace(make_turn(), user=said("user", "hello")), call)
    stopped = Reply(parts=(TextPart("Once upon"),), outcome=Outcome.INTERRUPTED, earned=True)

    await save(turn, stopped, ctx)

    commit = committed(ctx)
    roles = [entry.message.role for entry in commit.entries]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert commit.reply_entry == 3
    assert delivery_of(commit).parts == (TextPart("Once upon\n\n(stopped)"),)


@pytest.mark.req("J12")
async def test_j12_a_turn_that_is_stopped_before_it_spoke_says_that_it_was() -> None:
    ctx = context()
    turn = msgspec.structs.replace(make_turn(), user=said("user", "hello"))

    await save(turn, Reply(parts=(), outcome=Outcome.INTERRUPTED), ctx)

    assert delivery_of(committed(ctx)).parts == (TextPart("(stopped)"),)


@pytest.mark.req("J15")
async def test_j15_a_reply_that_is_fetched_wakes_no_sender() -> None:
    ctx = context(services=Services(first_state=_pulled))

    await save(answered(), ANSWER, ctx)

    assert delivery_of(committed(ctx)).state is DeliveryState.SENT
    assert ctx.services.woken == []


@pytest.mark.req("W20", "A8")
async def test_a_silent_reply_is_kept_and_not_delivered() -> None:
    ctx = context()

    await save(answered(), msgspec.structs.replace(ANSWER, silent=True), ctx)

    assert committed(ctx).deliveries == ()
    assert len(committed(ctx).entries) == 2


@pytest.mark.req("J13")
async def test_j13_a_steered_in_message_that_no_answer_followed_is_not_in_the_transcript() -> None:
    ctx = context()
    turn = answered().plus(said("user", "and?"), ordinal=2)

    await save(turn, Reply(parts=(), outcome=Outcome.INTERRUPTED), ctx)

    assert [entry.message for entry in committed(ctx).entries] == [said("user", "hello"), HELLO]


@pytest.mark.req("W18")
async def test_a_better_answer_replaces_the_one_before_and_a_failure_leaves_it() -> None:
    turn = msgspec.structs.replace(make_turn(), retry=1, history=(said("user", "hello"),))
    better, worse = context(), context()

    await save(turn.plus(HELLO, ordinal=1), ANSWER, better)
    failed = Reply(parts=(TextPart("Sorry"),), outcome=Outcome.FAILED)
    await save(with_rounds(turn, 1), failed, worse)

    assert committed(better).rewind == Rewind(cut=1)
    assert [entry.message for entry in committed(better).entries] == [HELLO]
    assert (committed(worse).rewind, committed(worse).entries) == (None, ())


@pytest.mark.req("W24", "W36")
async def test_a_session_that_ends_with_the_turn_is_told_to_hooks() -> None:
    ctx = context()
    reply = Reply(parts=(TextPart("Enough."),), outcome=Outcome.FAILED, ends="restarts")

    await save(answered(), reply, ctx)

    commit = committed(ctx)
    assert (commit.reset_lane, commit.end_reason) == (LANE, "restarts")
    assert ctx.services.hooks is not None
    assert ctx.services.hooks.sessions == [(LANE, "restarts")]


@pytest.mark.req("J10", "A8")
async def test_j10_a_full_disk_is_waited_for_and_nobody_is_told_before() -> None:
    ctx = context(StoreError("locked"), StorageFull("full"))

    await save(answered(), ANSWER, ctx)

    assert ctx.services.slept == [0.5, 0.5]
    assert len(ctx.services.store.turns.commits) == 1
    assert len(ctx.services.watch.published) == 1


@pytest.mark.req("J4", "J10")
@pytest.mark.parametrize("error", [LeaseLost("another has it"), StoreRejected("too large")])
async def test_j4_a_turn_whose_lease_is_lost_tells_nobody_anything(error: Exception) -> None:
    ctx = context(error)

    with pytest.raises(type(error)):
        await save(answered(), ANSWER, ctx)

    services = ctx.services
    assert (services.store.turns.commits, services.watch.published) == ([], [])
    assert (services.woken, services.observer.turns, services.slept) == ([], [], [])


async def test_a_call_that_was_cut_off_adds_its_usage_and_its_model() -> None:
    ctx = context()
    turn = msgspec.structs.replace(answered(), usage=Usage(tokens_in=5))
    cut = msgspec.structs.replace(ANSWER, usage=Usage(tokens_in=2), model="house:large")

    await save(turn, cut, ctx)

    result = committed(ctx).result
    assert (result.usage, result.model) == (Usage(tokens_in=7), "house:large")


@pytest.mark.req("J14")
async def test_j14_a_subagents_answer_goes_to_its_parent_and_to_no_chat() -> None:
    ctx = context()

    await save(answered(make_turn(make_event(internal=True))), ANSWER, ctx)

    assert committed(ctx).deliveries == ()


@pytest.mark.req("W27")
async def test_w27_a_scheduled_reply_answers_no_message_of_its_chat() -> None:
    ctx = context()
    event = msgspec.structs.replace(make_event(), scheduled=ScheduledRun(job="j", due_at=NOW))

    await save(answered(make_turn(event)), ANSWER, ctx)

    assert delivery_of(committed(ctx)).target.reply_to is None


@pytest.mark.req("G5", "J23")
async def test_g5_a_call_that_nearly_filled_the_context_leaves_the_job_that_sums_up() -> None:
    full = Usage(tokens_in=690, tokens_out=20)
    turn = msgspec.structs.replace(answered(), history=(said("user", "what was said " * 150),))
    call = NewCall(id="m_1.1", model="house:small", seen=1, lead=(), start=0, at=NOW, usage=full)
    ctx = context()

    await save(msgspec.structs.replace(turn, calls=(call,)), ANSWER, ctx)

    job = committed(ctx).jobs[-1]
    assert (job.kind, job.key, job.due_at) == ("compact", f"compact:{LANE}#0", NOW)
    assert "jobs" in ctx.services.woken


@pytest.mark.req("G5")
async def test_g5_a_context_that_other_things_than_the_conversation_fill_leaves_no_such_job() -> (
    None
):
    full = Usage(tokens_in=690, tokens_out=20)
    call = NewCall(id="m_1.1", model="house:small", seen=1, lead=(), start=0, at=NOW, usage=full)
    ctx = context()

    await save(msgspec.structs.replace(answered(), calls=(call,)), ANSWER, ctx)

    assert [job.kind for job in committed(ctx).jobs if job.kind == "compact"] == []


@pytest.mark.req("G5")
async def test_g5_a_short_conversation_and_an_agent_that_sums_nothing_up_leave_no_such_job() -> (
    None
):
    short, full = Usage(tokens_in=600, tokens_out=20), Usage(tokens_in=900)
    off = Settings(compaction=CompactionSettings(enabled=False))
    for usage, settings in ((short, LEARNING), (full, off)):
        call = NewCall(
            id="m_1.1", model="house:small", seen=1, lead=(), start=0, at=NOW, usage=usage
        )
        ctx = context(services=Services(settings=settings))

        await save(msgspec.structs.replace(answered(), calls=(call,)), ANSWER, ctx)

        assert [job.kind for job in committed(ctx).jobs if job.kind == "compact"] == []


@pytest.mark.req("G5")
@pytest.mark.parametrize(("version", "is_new"), [(None, True), (5, False)])
async def test_g5_only_what_the_turn_itself_left_out_is_committed(
    version: int | None, is_new: bool
) -> None:
    made = Compaction(start=0, stop=2, message=said("user", "a note"), version=version)
    ctx = context()

    await save(msgspec.structs.replace(answered(), compaction=made), ANSWER, ctx)

    assert committed(ctx).compaction == (made if is_new else None)
