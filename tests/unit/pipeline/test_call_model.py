"""`call_model` alone: what the model is sent, what of its answer is kept, and how a call can end."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

import msgspec
import pytest

from hermes.agents.roster import Agent
from hermes.calls.call_charge import SpendLog
from hermes.calls.events import CallEvent, CallFailure, CallStart, SlotWait
from hermes.calls.model_caller import CallSpec
from hermes.config import AgentSettings, Settings
from hermes.errors import (
    HermesError,
    ModelsStopped,
    NoCredits,
    NoPlace,
    OverBudget,
    ProviderRejected,
    ProviderUnavailable,
    StoreError,
)
from hermes.message.chat import ChatMessage
from hermes.message.outcome import Outcome
from hermes.message.parts import NotePart, ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Reply, Usage
from hermes.pipeline.stages.call_model import call_model
from hermes.pipeline.turn import Turn
from hermes.ports.provider import TextDelta
from hermes.ports.spend import Account, SpendEntry
from hermes.ports.tool import ToolTraits
from hermes.tools.tool_sets import ToolSets
from tests.unit.pipeline.model_parts import (
    LARGE,
    PLAN,
    SMALL,
    Caller,
    KeptNotes,
    ModelServices,
    ModelStore,
    Planner,
    Previews,
    Script,
    answers,
)
from tests.unit.pipeline.stage_parts import (
    LEASE,
    Context,
    KeptJournal,
    SmallTool,
    make_event,
    make_turn,
    said,
    with_rounds,
)

HELLO = answers(TextPart("Hello Ann"))
SPENT = SpendEntry(
    day="2023-11-14",
    account=Account(person_id="p_ann"),
    model="house:small",
    usage=Usage(tokens_in=7, tokens_out=1),
)
WAIVED = msgspec.structs.replace(
    SPENT, account=Account(person_id="platform", agent="main", channel="telegram")
)


def breaks(error: HermesError, *shown: str, is_sent: bool = True) -> Script:
    """Return a call that shows some text and then fails."""

    async def run(spec: CallSpec, receipt: SpendLog) -> AsyncGenerator[CallEvent, None]:
        if is_sent:
            yield CallStart(SMALL)
            receipt.add(SPENT)
        for text in shown:
            yield TextDelta(text)
        raise error

    return run


def ready(turn: Turn | None = None) -> Turn:
    """Return a turn as `gate_tools` leaves it."""
    return msgspec.structs.replace(turn or make_turn(), user=said("user", "hello"))


def context(
    *scripts: Script, begun: bool = False, services: ModelServices | None = None
) -> Context[ModelServices]:
    """Return a context whose model follows the scripts; `services` are all but the model."""
    services = replace(services or ModelServices(), calls=Caller(*scripts))
    return Context(services, KeptJournal(lease=LEASE if begun else None))


async def test_an_answer_becomes_part_of_the_turn_and_its_step_is_ended() -> None:
    ctx = context(HELLO)

    turn = await call_model(ready(), ctx)

    assert isinstance(turn, Turn)
    assert turn.exchanged[-1].message == said("assistant", "Hello Ann")
    assert (turn.model, turn.usage) == ("house:small", Usage(tokens_in=10, tokens_out=2))
    (step,) = ctx.journal.ended
    assert (step.kind, step.state, step.name) == ("model", "done", "house:small")
    assert [call.id for call in turn.calls] == [f"m_1.{step.ordinal}"]


@pytest.mark.req("J7")
async def test_j7_the_first_call_freezes_the_turn_and_a_later_one_does_not() -> None:
    ctx = context(HELLO, HELLO)

    turn = await call_model(ready(), ctx)
    assert isinstance(turn, Turn)
    again = await call_model(turn.plus(said("user", "more"), ordinal=2), ctx)

    assert isinstance(again, Turn)
    first, second = ctx.journal.prepared
    assert first is not None
    assert (first.user, first.plan) == (said("user", "hello"), PLAN)
    assert second is None
    assert len(ctx.services.planner.asked) == 1


async def test_the_model_sees_system_history_message_and_exchange_in_this_order() -> None:
    note = ChatMessage("user", (TextPart("hello"), NotePart("\n\nIt rains.")))
    turn = msgspec.structs.replace(
        make_turn(), system=("Be kind.",), history=(said("assistant", "before"),), user=note
    )
    ctx = context(HELLO)

    await call_model(turn, ctx)

    (request,) = ctx.services.calls.requests
    assert request.system == ("Be kind.",)
    assert [message.text for message in request.messages] == ["before", "hello\n\nIt rains."]
    assert request.plain_chars == len("before" + "hello\n\nIt rains.")


@pytest.mark.req("W19")
async def test_w19_what_is_said_is_shown_while_it_comes_and_thoughts_are_not() -> None:
    previews = Previews(can=True)
    ctx = context(
        answers(TextPart("<think>hm</think>Hello "), TextPart("Ann")),
        services=ModelServices(previewer=previews),
    )

    await call_model(ready(), ctx)

    deltas = [one.text for _, one in ctx.services.watch.published if one.kind == "delta"]
    assert "".join(deltas) == "Hello Ann"
    assert previews.preview.shown[-1] == "Hello Ann"
    assert previews.preview.is_closed


@pytest.mark.req("W19", "J16")
async def test_w19_an_answer_is_worth_more_than_its_preview() -> None:
    ctx = context(
        HELLO, services=ModelServices(previewer=Previews(can=True, error=StoreError("disk full")))
    )

    assert isinstance(await call_model(ready(), ctx), Turn)


@pytest.mark.req("A9")
async def test_a9_the_default_cap_is_8_rounds() -> None:
    assert Settings().turns.tool_rounds == 8
    assert AgentSettings().tool_rounds is None


@pytest.mark.req("A9")
@pytest.mark.parametrize(
    ("agent", "everybody", "used", "is_offered"),
    [
        (None, 8, 7, True),
        (None, 8, 8, False),
        (None, 8, 9, False),
        (1, 8, 0, True),
        (1, 8, 1, False),
        (3, 1, 2, True),
        (3, 1, 3, False),
        (0, 8, 0, False),
    ],
)
async def test_a9_tools_are_offered_until_the_rounds_of_the_agent_are_used(
    agent: int | None, everybody: int, used: int, is_offered: bool
) -> None:
    look = SmallTool("look")
    settings = Settings.model_validate({"turns": {"tool_rounds": everybody}})
    turn = ready(make_turn(agent=AgentSettings(tool_rounds=agent)))
    turn = with_rounds(msgspec.structs.replace(turn, tools=(look.spec,), plan=PLAN), used)
    ctx = context(HELLO, begun=True, services=ModelServices(settings=settings))

    await call_model(turn, ctx)

    (request,) = ctx.services.calls.requests
    assert request.tools == ((look.spec,) if is_offered else ())


@pytest.mark.req("A9")
async def test_a9_a_call_that_the_model_makes_up_beyond_the_cap_is_dropped() -> None:
    look, call = SmallTool("look"), ToolCallPart("c9", "look", "{}")
    turn = ready(make_turn(agent=AgentSettings(tool_rounds=1)))
    turn = with_rounds(msgspec.structs.replace(turn, tools=(look.spec,), plan=PLAN), 1)
    ctx = context(answers(TextPart("So far."), call), begun=True)

    answered = await call_model(turn, ctx)

    assert isinstance(answered, Turn)
    assert answered.exchanged[-1].message == said("assistant", "So far.")
    assert msgspec.json.decode(ctx.journal.ended[-1].body or b"", type=ChatMessage) == said(
        "assistant", "So far."
    )
    facts = ctx.journal.ended[-1].facts
    assert facts is not None
    assert (facts.is_verbatim, facts.had_tools) == (False, False)


@pytest.mark.req("A6", "A8")
async def test_a6_a_model_that_fails_is_a_friendly_word_and_nothing_was_earned() -> None:
    ctx = context(breaks(ProviderUnavailable("502")))

    reply = await call_model(ready(), ctx)

    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.earned, reply.reason) == (Outcome.FAILED, False, "502")
    assert reply.text == "I could not reach my model just now. Please try again in a moment."
    assert ctx.journal.notes[-1] == (
        "model_failed",
        {"model": "house:small", "problem": "provider_unavailable", "status": None},
    )
    assert ctx.journal.paid == [WAIVED]


@pytest.mark.req("A7", "A8")
async def test_a7_after_tools_their_output_is_given_behind_a_disclaimer() -> None:
    ctx = context(breaks(ProviderUnavailable("502")), begun=True)
    turn = with_rounds(msgspec.structs.replace(ready(), plan=PLAN), 2)

    reply = await call_model(turn, ctx)

    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.earned) == (Outcome.ANSWERED, True)
    assert reply.text.endswith("This is what my tools found:\n\nresult 0\n\nresult 1")


@pytest.mark.req("A8")
async def test_a8_an_answer_that_breaks_off_is_given_and_said_to_be_a_part() -> None:
    ctx = context(breaks(ProviderUnavailable("reset"), "Once upon"))

    reply = await call_model(ready(), ctx)

    assert isinstance(reply, Reply)
    assert reply.text == "Once upon\n\n(My answer was cut off here. Please ask again.)"
    assert (reply.outcome, reply.earned) == (Outcome.FAILED, True)
    assert (reply.usage, reply.model) == (SPENT.usage, "house:small")
    assert ctx.journal.paid == [SPENT]


@pytest.mark.req("A8")
async def test_a8_where_no_model_can_be_chosen_nothing_is_called() -> None:
    ctx = context(
        services=ModelServices(planner=Planner(ProviderUnavailable("nothing is configured")))
    )

    reply = await call_model(ready(), ctx)

    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.reason) == (Outcome.FAILED, "nothing is configured")
    assert (ctx.services.calls.specs, ctx.journal.started) == ([], [])


@pytest.mark.req("A23")
async def test_a23_each_try_has_a_step_and_the_answer_is_that_of_the_last() -> None:
    async def fails_over(spec: CallSpec, receipt: SpendLog) -> AsyncGenerator[CallEvent, None]:
        yield CallStart(SMALL)
        receipt.add(SPENT)
        yield CallFailure(SMALL, ProviderRejected("too long", status=413))
        receipt.add(SPENT)
        async for event in answers(TextPart("Hello Ann"), candidate=LARGE)(spec, receipt):
            yield event

    ctx = context(fails_over)

    turn = await call_model(ready(), ctx)

    assert isinstance(turn, Turn)
    assert turn.model == "house:large"
    assert [(step.name, step.state) for step in ctx.journal.ended] == [
        ("house:small", "failed"),
        ("house:large", "done"),
    ]
    assert ctx.journal.paid == [WAIVED, SPENT]
    assert turn.platform_usage == SPENT.usage


@pytest.mark.req("A5", "A22", "A21")
@pytest.mark.parametrize(
    ("error", "begun", "outcome", "text"),
    [
        (NoCredits(balance=0, price=1), False, Outcome.REFUSED, None),
        (
            OverBudget("day", 3_600.0, limit="person"),
            False,
            Outcome.FAILED,
            "There is no budget left for this. Please try again tomorrow.",
        ),
        (
            OverBudget("month", 90_000.0, limit="person"),
            False,
            Outcome.FAILED,
            "There is no budget left for this. Please try again next month.",
        ),
        (
            ModelsStopped("killed", 60.0),
            False,
            Outcome.FAILED,
            "I am switched off at the moment. Please try again later.",
        ),
        (
            NoPlace("full"),
            False,
            Outcome.EXPIRED,
            "Too many people were asking, and that message waited too long. Please send it again.",
        ),
        (
            NoPlace("full"),
            True,
            Outcome.FAILED,
            "Too many people are asking at once. Please try again in a moment.",
        ),
    ],
)
async def test_what_forbids_the_call_ends_the_turn_in_words(
    error: HermesError, begun: bool, outcome: Outcome, text: str | None
) -> None:
    ctx = context(breaks(error, is_sent=False), begun=begun)
    ctx.journal.waits_for_place = True

    reply = await call_model(ready(), ctx)

    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.earned) == (outcome, False)
    assert text is None or reply.text == text
    assert not ctx.journal.waits_for_place


@pytest.mark.req("A21")
@pytest.mark.parametrize("error", [None, StoreError("locked")])
async def test_a21_a_call_that_waits_for_a_place_says_so_at_once(error: Exception | None) -> None:
    seen: list[bool] = []

    async def waits(spec: CallSpec, receipt: SpendLog) -> AsyncGenerator[CallEvent, None]:
        yield SlotWait()
        seen.append(ctx.journal.waits_for_place)
        async for event in HELLO(spec, receipt):
            yield event

    store = ModelStore(inbox=KeptNotes(error))
    ctx = context(waits, begun=True, services=ModelServices(store=store))

    assert isinstance(await call_model(ready(), ctx), Turn)
    assert store.inbox.noted == ([] if error else [("m_1", "waits_for_place")])
    assert (seen, ctx.journal.waits_for_place, ctx.journal.writes) == ([True], False, 1)


@pytest.mark.req("J12")
async def test_j12_stopped_while_it_speaks_the_turn_ends_with_what_was_shown() -> None:
    async def speaks(spec: CallSpec, receipt: SpendLog) -> AsyncGenerator[CallEvent, None]:
        yield CallStart(SMALL)
        yield TextDelta("Once upon")
        asyncio.get_running_loop().call_soon(ctx.interrupt.press, "m_2")
        await asyncio.Event().wait()

    ctx = context(speaks)

    reply = await call_model(ready(), ctx)

    assert isinstance(reply, Reply)
    assert (reply.text, reply.outcome, reply.earned) == ("Once upon", Outcome.INTERRUPTED, True)
    assert reply.reason == "stopped by m_2"


@pytest.mark.req("A24")
async def test_a24_an_answer_from_memory_is_noted_and_only_asked_for_where_allowed() -> None:
    planned = msgspec.structs.replace(ready(), plan=PLAN)
    agent = Agent("main", AgentSettings(cache=True))
    remembering = msgspec.structs.replace(planned, agent=agent)
    again = msgspec.structs.replace(remembering, retry=1)
    ctx = context(answers(TextPart("Hello"), cached_from="m_0.1"), HELLO, HELLO)

    turn = await call_model(remembering, ctx)
    await call_model(again, ctx)
    await call_model(planned, ctx)

    assert isinstance(turn, Turn)
    assert turn.is_from_memory
    assert ("from_memory", {"cached_from": "m_0.1"}) in ctx.journal.notes
    assert [spec.remembers for spec in ctx.services.calls.specs] == [True, False, False]


@pytest.mark.req("A17")
async def test_the_demonstration_model_gets_no_default_tools_and_is_asked_to_be_short() -> None:
    look = SmallTool("look", traits=ToolTraits(on_by_default=True))
    turn = msgspec.structs.replace(ready(), tools=(look.spec,), system=("Be kind.",))
    ctx = context(
        HELLO,
        services=ModelServices(
            planner=Planner(PLAN, is_small=True), tool_sets=ToolSets({"look": look})
        ),
    )

    await call_model(turn, ctx)

    (request,) = ctx.services.calls.requests
    assert request.tools == ()
    assert request.system[-1].endswith("answer in two or three short sentences.")


@pytest.mark.req("J13")
async def test_messages_that_were_claimed_end_with_the_answer_that_saw_them() -> None:
    turn = msgspec.structs.replace(ready(), claimed=("m_2",))

    answered = await call_model(turn, context(HELLO))

    assert isinstance(answered, Turn)
    assert answered.merged == ("m_2",)


@pytest.mark.req("A9")
async def test_thoughts_and_tool_calls_of_an_answer_are_kept_in_order() -> None:
    thought = ReasoningPart("hm", "openai")
    call = ToolCallPart("c1", "look", "{}")
    look = SmallTool("look")
    turn = msgspec.structs.replace(ready(), tools=(look.spec,))

    answered = await call_model(turn, context(answers(thought, TextPart("I look."), call)))

    assert isinstance(answered, Turn)
    assert answered.exchanged[-1].message.parts == (thought, TextPart("I look."), call)


@pytest.mark.req("A20")
async def test_the_call_goes_on_the_account_of_the_person_and_of_their_way() -> None:
    ctx = context(HELLO)

    await call_model(ready(make_turn(make_event(key="k_1"))), ctx)

    (spec,) = ctx.services.calls.specs
    assert spec.payer.account == Account(
        person_id="p_ann", agent="main", channel="telegram", key="k_1"
    )
    assert ctx.services.store.keys.asked == ["k_1", "k_1"]


@pytest.mark.req("J8", "A22")
async def test_a_try_before_a_budget_that_has_no_room_is_in_the_platforms_share() -> None:
    async def runs_out(spec: CallSpec, receipt: SpendLog) -> AsyncGenerator[CallEvent, None]:
        yield CallStart(SMALL)
        receipt.add(SPENT)
        yield CallFailure(SMALL, ProviderUnavailable("empty"))
        raise OverBudget("no room", 60.0)

    ctx = context(runs_out)

    reply = await call_model(ready(), ctx)

    assert isinstance(reply, Reply)
    assert (reply.usage, reply.platform_usage) == (Usage(), SPENT.usage)
    assert ctx.journal.paid == [WAIVED]


PICKED = {"type": "object", "properties": {"pick": {"type": "string"}}, "required": ["pick"]}


def picking() -> Turn:
    return ready(make_turn(agent=AgentSettings(response_schema=PICKED)))


@pytest.mark.req("M6", "M8")
async def test_the_schema_of_an_agent_is_asked_for_with_every_call() -> None:
    ctx = context(answers(TextPart('{"pick":"a"}')), HELLO)

    await call_model(picking(), ctx)
    await call_model(ready(), ctx)

    first, plain = ctx.services.calls.requests
    assert first.schema is not None
    assert msgspec.json.decode(first.schema.schema) == PICKED
    assert plain.schema is None


@pytest.mark.req("M6", "M8")
async def test_json_that_was_cut_off_is_no_answer_of_an_agent_with_a_schema() -> None:
    reply = await call_model(picking(), context(answers(TextPart('{"pi'), stop="length")))

    assert isinstance(reply, Reply)
    assert reply.outcome is Outcome.FAILED
    assert "length limit" in (reply.reason or "")
