"""`run_tools` alone: which calls run, in which order, who has to agree, and what a crash leaves."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field

import msgspec
import pytest

from hermes.agents.roster import Agent
from hermes.config import AgentApprovalSettings, AgentSettings, Settings
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.message.outcome import BusyPolicy, DeliveryState, MessageState, Outcome
from hermes.message.parts import TextPart, ToolCallPart, ToolResultPart
from hermes.message.reply import Reply
from hermes.pipeline.approval_waits import ApprovalWait, binding
from hermes.pipeline.choice_offers import ButtonsOf, no_buttons
from hermes.pipeline.needs import Follow, PutChild, StopTurn
from hermes.pipeline.questions import Questions
from hermes.pipeline.stages.run_tools import run_tools
from hermes.pipeline.teams import TeamLocks
from hermes.pipeline.turn import Turn
from hermes.ports.approvals import Approval, ApprovalState, AskedQuestion
from hermes.ports.channel import Acceptance
from hermes.ports.keys import CallerKey
from hermes.ports.memory import Soul
from hermes.ports.steps import Step, StepState
from hermes.ports.tool import Approver, Tool, ToolContext, ToolTraits
from hermes.ports.turns import LaneView, MessageRecord, TurnResult
from hermes.ports.upward import Progress
from hermes.sessions.commands import CommandBook
from hermes.testing.manual_time import ManualClock
from hermes.tools.executor import MaskResult, unmasked
from tests.unit.pipeline.stage_parts import (
    LANE,
    LEASE,
    NOW,
    Context,
    KeptJournal,
    KeptWatch,
    NoProgress,
    SmallTool,
    Table,
    Zone,
    asking,
    digest,
    make_event,
    make_record,
    make_turn,
)

A, B = ToolCallPart("c1", "a", "{}"), ToolCallPart("c2", "b", "{}")
BESIDE = ToolTraits(parallel=True)
ASKS = ToolTraits(needs_approval=True)


@dataclass
class Lanes:
    """What waits to join a turn, and what stands on a lane."""

    steers: tuple[MessageRecord, ...] = ()

    async def steering(self, lane: str, person_id: str) -> tuple[MessageRecord, ...]:
        assert (lane, person_id) == (LANE, "p_ann")
        return self.steers

    async def view(self, lane: str) -> LaneView:
        return LaneView(lane=lane, fence=1, epoch=0, head=0, message=None)

    async def first(self, lane: str) -> MessageRecord | None:
        raise AssertionError("no subagent is started in these tests")

    async def below(self, lane: str) -> tuple[MessageRecord, ...]:
        raise AssertionError("no task is given in these tests")

    async def count_below(self, lane: str) -> int:
        raise AssertionError("no task is given in these tests")

    async def interrupt(self, message_id: str, *, by: str) -> tuple[tuple[str, str], ...]:
        raise AssertionError("no task is given in these tests")


@dataclass(frozen=True)
class Souls:
    soul: Soul | None = None

    async def get(self, lane: str, epoch: int) -> Soul | None:
        return self.soul


class Approvals(Table[Approval]):
    async def settle(self, approval_id: str, state: ApprovalState, *, by: str, at: float) -> bool:
        raise AssertionError("no question is asked in these tests")

    async def answer(
        self, question_id: str, body: bytes, *, state: ApprovalState, by: str, at: float
    ) -> bool:
        raise AssertionError("no question is asked in these tests")

    async def answered_by(self, message_id: str) -> ApprovalState | None:
        return None

    async def questions_of(self, message_id: str) -> tuple[AskedQuestion, ...]:
        return ()

    async def left_open(self) -> tuple[AskedQuestion, ...]:
        return ()

    async def was_asked(self, who: str) -> bool:
        return False


class Inbox:
    async def state(self, message_id: str) -> MessageState | None:
        return None

    async def get(self, message_id: str, /) -> MessageRecord | None:
        return None

    async def result(self, message_id: str) -> TurnResult | None:
        return None


@dataclass(frozen=True)
class Store:
    turns: Lanes = field(default_factory=Lanes)
    souls: Souls = Souls()
    approvals: Approvals = field(default_factory=Approvals)
    inbox: Inbox = field(default_factory=Inbox)
    keys: Table[CallerKey] = field(default_factory=Table)

    def digest(self, content: bytes) -> bytes:
        return digest(content)


class Agents:
    async def get(self, name: str, /) -> Agent:
        return Agent(name, AgentSettings())

    async def find(self, name: str, /) -> Agent | None:
        return Agent(name, AgentSettings())


def _no_stop(lane: str, by: str, *, message_id: str | None) -> None:
    raise AssertionError("no task is stopped in these tests")


async def _no_child(event: MessageEvent, lane: str) -> Acceptance:
    raise AssertionError("no subagent is started in these tests")


def _no_progress(message_id: str) -> AsyncIterator[Progress]:
    return NoProgress()


def _make_id(prefix: str) -> str:
    return f"{prefix}_1"


def _pushed(_platform: str) -> DeliveryState:
    return DeliveryState.PENDING


def _questions() -> Questions:
    return Questions(lambda _: False, CommandBook())


@dataclass(frozen=True)
class Services:
    tools: Mapping[str, Tool]
    store: Store = field(default_factory=Store)
    settings: Settings = field(default_factory=Settings)
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))
    watch: KeptWatch = field(default_factory=KeptWatch)
    roster: Agents = field(default_factory=Agents)
    questions: Questions = field(default_factory=_questions)
    woken: list[str] = field(default_factory=list)
    make_id: MakeId = _make_id
    buttons: ButtonsOf = no_buttons
    put_child: PutChild = _no_child
    follow: Follow = _no_progress
    first_state: Callable[[str], DeliveryState] = _pushed
    media: None = None
    resets: Zone = field(default_factory=Zone)
    mask_result: MaskResult = unmasked
    stop_turn: StopTurn = _no_stop
    team_locks: TeamLocks = field(default_factory=TeamLocks)
    personal_ids: frozenset[str] = frozenset()

    @property
    def wake_lane(self) -> Callable[[str], None]:
        return self.woken.append

    @property
    def wake_outbox(self) -> Callable[[str], None]:
        return self.woken.append


def context(
    *tools: SmallTool, store: Store | None = None, steps: tuple[Step, ...] = ()
) -> Context[Services]:
    services = Services({tool.spec.name: tool for tool in tools}, store or Store())
    return Context(services, KeptJournal(*steps, lease=LEASE))


def asked(*calls: ToolCallPart, offered: tuple[str, ...] = ("a", "b")) -> Turn:
    specs = tuple(SmallTool(name).spec for name in offered)
    return asking(msgspec.structs.replace(make_turn(), tools=specs), *calls)


async def run(turn: Turn, ctx: Context[Services]) -> Turn:
    ran = await run_tools(turn, ctx)
    assert isinstance(ran, Turn)
    return ran


def results(turn: Turn) -> list[ToolResultPart]:
    return [
        part
        for entry in turn.exchanged
        for part in entry.message.parts
        if isinstance(part, ToolResultPart)
    ]


@pytest.mark.req("J8")
async def test_the_next_call_runs_and_its_result_joins_the_turn() -> None:
    a, b = SmallTool("a"), SmallTool("b")
    ctx = context(a, b)

    turn = await run(asked(A, B), ctx)

    assert results(turn) == [ToolResultPart("c1", "a", "a ran")]
    assert (a.runs, b.runs) == (1, 0)
    assert [use.name for use in turn.tool_uses] == ["a"]
    assert [(one.name, one.state) for one in ctx.journal.ended] == [("a", "done")]
    assert (await run(turn, ctx)).tool_uses[-1].name == "b"


async def test_a_turn_without_pending_calls_passes_untouched() -> None:
    turn = make_turn()

    assert await run_tools(turn, context()) is turn


@pytest.mark.req("J8")
async def test_j8_the_step_of_a_call_is_written_before_it_runs() -> None:
    seen: list[list[str]] = []

    class Looks(SmallTool):
        async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
            seen.append([step.name for step in ctx.journal.started])
            return "ok"

    ctx = context(Looks("a"))
    await run(asked(A), ctx)

    assert seen == [["a"]]


@pytest.mark.req("J8")
async def test_j8_parallel_calls_run_together_and_keep_their_order() -> None:
    a, b = SmallTool("a", traits=BESIDE), SmallTool("b", traits=BESIDE)

    turn = await run(asked(A, B), context(a, b))

    assert [result.name for result in results(turn)] == ["a", "b"]
    assert [use.name for use in turn.tool_uses] == ["a", "b"]


@pytest.mark.req("A17")
@pytest.mark.parametrize("offered", [(), ("b",)])
async def test_a17_a_tool_that_the_model_was_not_given_is_not_run(offered: tuple[str, ...]) -> None:
    a = SmallTool("a")

    turn = await run(asked(A, offered=offered), context(a))

    (result,) = results(turn)
    assert result.failed
    assert result.text == "there is no tool 'a' here; use one of the listed tools"
    assert a.runs == 0


@pytest.mark.req("A8")
async def test_a_tool_that_crashes_is_a_failed_result_and_not_the_end() -> None:
    class Broken(SmallTool):
        async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
            raise ValueError("a secret")

    ctx = context(Broken("a"))
    (result,) = results(await run(asked(A), ctx))

    assert (result.failed, result.text) == (True, "the tool a crashed: ValueError")
    assert ctx.journal.ended[-1].state == "failed"


@pytest.mark.req("J8")
async def test_a_long_result_is_cut_for_the_model_and_kept_whole() -> None:
    ctx = context(SmallTool("a", text="x" * 30_001))

    (result,) = results(await run(asked(A), ctx))

    assert len(result.text) <= 30_000
    assert "of 30001 characters are left out here" in result.text
    (kept,) = [step for step in ctx.journal.started if step.kind == "output"]
    assert kept.body == b'"' + b"x" * 30_001 + b'"'


@pytest.mark.req("J9", "W18")
async def test_j9_a_tool_that_needs_approval_parks_the_turn_and_does_not_run() -> None:
    a = SmallTool("a", traits=ASKS)
    ctx = context(a)

    with pytest.raises(ApprovalWait, match="a_1"):
        await run_tools(asked(A), ctx)

    assert a.runs == 0
    (approval,) = ctx.journal.parked
    assert (approval.id, approval.tool, approval.chat_type) == ("a_1", "a", "dm")
    assert approval.arguments_hash == binding(A)
    assert ctx.services.woken == ["telegram"]


@pytest.mark.req("M8", "J9")
@pytest.mark.parametrize(
    ("policy", "chat_type"),
    [({"tools": ["a"]}, "dm"), ({"tools": ["*"], "by": "admins"}, "elsewhere")],
)
async def test_an_agent_may_have_a_call_allowed_that_its_tool_never_asks_for(
    policy: dict[str, object], chat_type: str
) -> None:
    a = SmallTool("a", traits=BESIDE)
    ctx = context(a)
    settings = AgentSettings(approvals=AgentApprovalSettings.model_validate(policy))
    turn = msgspec.structs.replace(asked(A, A), agent=Agent("main", settings))

    with pytest.raises(ApprovalWait):
        await run_tools(turn, ctx)

    assert a.runs == 0
    assert ctx.journal.parked[0].chat_type == chat_type


@pytest.mark.req("M8")
async def test_the_approvals_of_an_agent_are_about_the_tools_that_it_names() -> None:
    a = SmallTool("a")
    settings = AgentSettings(approvals=AgentApprovalSettings(tools=("b",), by="admins"))
    turn = msgspec.structs.replace(asked(A), agent=Agent("main", settings))

    assert results(await run(turn, context(a))) == [ToolResultPart("c1", "a", "a ran")]


def decided(state: ApprovalState, *, arguments: bytes = binding(A)) -> tuple[Store, Step]:
    approval = Approval(
        id="a_1",
        message_id="m_1",
        lane=LANE,
        ordinal=2,
        tool="a",
        arguments_hash=arguments,
        requester="telegram:ann",
        chat_type="dm",
        expires_at=NOW + 60,
        state=state,
    )
    step = Step(ordinal=2, kind="approval", state="started", name="a_1", arguments_hash=binding(A))
    return Store(approvals=Approvals({"a_1": approval})), step


@pytest.mark.req("J9")
async def test_j9_after_the_approval_the_call_runs_once() -> None:
    a = SmallTool("a", traits=ASKS)
    store, step = decided("approved")
    ctx = context(a, store=store, steps=(step,))

    turn = await run(asked(A), ctx)

    assert results(turn) == [ToolResultPart("c1", "a", "a ran")]
    assert a.seen[0].approved_by == "person"
    assert ctx.journal.spent == {"a_1"}
    with pytest.raises(ApprovalWait):
        await run_tools(turn.plus(asked(A).exchanged[-1].message, ordinal=9), ctx)
    assert a.runs == 1


@pytest.mark.req("J9")
@pytest.mark.parametrize("state", ["denied", "expired"])
async def test_j9_a_call_that_was_not_approved_is_told_to_the_model(state: ApprovalState) -> None:
    a = SmallTool("a", traits=ASKS)
    store, step = decided(state)

    (result,) = results(await run(asked(A), context(a, store=store, steps=(step,))))

    assert result.text == f"the tool a was not run: approval a_1 was {state}"
    assert a.runs == 0


@pytest.mark.req("J9")
async def test_j9_an_approval_of_other_arguments_counts_for_nothing() -> None:
    a = SmallTool("a", traits=ASKS)
    store, step = decided("approved", arguments=b"other")

    with pytest.raises(ApprovalWait):
        await run_tools(asked(A), context(a, store=store, steps=(step,)))
    assert a.runs == 0


@pytest.mark.req("J9")
async def test_j9_the_approval_of_a_call_is_none_of_the_same_tool_with_other_arguments() -> None:
    a = SmallTool("a", traits=ASKS)
    store, step = decided("approved")
    other = ToolCallPart("c1", "a", '{"to": "eve"}')

    with pytest.raises(ApprovalWait):
        await run_tools(asked(other), context(a, store=store, steps=(step,)))
    assert a.runs == 0


@pytest.mark.req("J9", "W27")
@pytest.mark.parametrize(("who", "chat_type"), [("person", "dm"), ("admins", "elsewhere")])
async def test_j9_a_tool_may_say_of_each_call_who_has_to_agree(
    who: Approver, chat_type: str
) -> None:
    class Sends(SmallTool):
        async def approver(self, arguments: msgspec.Raw, context: ToolContext) -> Approver:
            return who

    ctx = context(Sends("a"))
    with pytest.raises(ApprovalWait):
        await run_tools(asked(A), ctx)

    assert ctx.journal.parked[0].chat_type == chat_type


@pytest.mark.req("J12")
async def test_j12_a_turn_that_was_stopped_runs_no_further_tool() -> None:
    a = SmallTool("a")
    ctx = context(a)
    ctx.interrupt.press("m_2")

    reply = await run_tools(asked(A), ctx)

    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.reason) == (Outcome.INTERRUPTED, "stopped by m_2")
    assert (a.runs, ctx.journal.started) == (0, [])


@pytest.mark.req("J12")
@pytest.mark.parametrize("cancellable", [True, False])
async def test_j12_only_a_cancellable_tool_ends_early(cancellable: bool) -> None:
    ended: list[str] = []

    class Slow(SmallTool):
        async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
            asyncio.get_running_loop().call_soon(ctx.interrupt.press, "m_2")
            for _ in range(5):
                await asyncio.sleep(0)
            ended.append("whole")
            return "done"

    ctx = context(Slow("a", traits=ToolTraits(cancellable=cancellable)))

    after = await run_tools(asked(A), ctx)

    assert isinstance(after, Reply) is cancellable
    assert ended == ([] if cancellable else ["whole"])


@pytest.mark.req("W18")
async def test_a_message_to_steer_joins_behind_the_last_result() -> None:
    steer = make_record("m_2", make_event("and in Rome?"), busy=BusyPolicy.STEER)
    erased = make_record("m_3", None, busy=BusyPolicy.STEER)
    ctx = context(SmallTool("a"), SmallTool("b"), store=Store(Lanes((erased, steer))))

    first = await run(asked(A, B), ctx)
    assert ctx.journal.claimed == []
    last = await run(first, ctx)

    assert ctx.journal.claimed == ["m_2"]
    assert last.claimed == ("m_2",)
    assert last.exchanged[-1].message.parts == (TextPart("and in Rome?"),)


@pytest.mark.req("A15")
@pytest.mark.parametrize(
    ("soul", "is_private"),
    [
        (Soul("p_ann", ()), True),
        (Soul("p_ann", (), 3), False),
        (Soul("p_bob", ()), False),
        (None, False),
    ],
    ids=["theirs", "shared", "another's", "unknown"],
)
async def test_a15_a_tool_may_tell_facts_only_where_the_person_reads_alone(
    soul: Soul | None, is_private: bool
) -> None:
    a = SmallTool("a")

    await run(asked(A), context(a, store=Store(souls=Souls(soul))))

    assert a.seen[0].is_private is is_private


@pytest.mark.req("J8")
async def test_j8_calls_that_have_results_are_not_run_again() -> None:
    a, b = SmallTool("a"), SmallTool("b")
    turn = await run(asked(A, B), context(a, b))
    resumed = context(a, b)

    again = await run(turn, resumed)

    assert (a.runs, b.runs) == (1, 1)
    assert b.seen[0].call == 2
    assert [result.name for result in results(again)] == ["a", "b"]


def ran_before(state: StepState) -> Step:
    return Step(ordinal=3, kind="tool", state=state, name="a", arguments_hash=binding(A))


@pytest.mark.req("J8", "J9")
async def test_j9_an_approved_call_whose_result_was_lost_runs_without_another_question() -> None:
    a = SmallTool("a", traits=ASKS)
    store, asked_for = decided("approved")

    await run(asked(A), context(a, store=store, steps=(asked_for, ran_before("lost"))))

    assert a.runs == 1


@pytest.mark.req("J8", "J9")
async def test_j9_an_approval_that_was_used_before_a_crash_is_used_up() -> None:
    a = SmallTool("a", traits=ASKS)
    store, asked_for = decided("approved")
    ctx = context(a, store=store, steps=(asked_for, ran_before("done")))

    with pytest.raises(ApprovalWait):
        await run_tools(asked(A), ctx)
    assert a.runs == 0
