"""Agents whose messages an adapter answers: the call is a step, its session is kept, nothing runs twice."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hermes.app.make_agents import check_runtimes, make_agent_operations
from hermes.control.agent_orders import AgentChange, AgentSwap, NewAgent
from hermes.errors import BadRequest, ConfigurationError, Conflict
from hermes.message.ids import make_id
from hermes.testing.scripted_adapter import ScriptedAdapter
from tests.contract.journal.rig import Rig, open_rig, some
from tests.contract.journal.test_stored_agents import desk_of, is_in

pytestmark = pytest.mark.req("A25")


async def make(rig: Rig, runtime: str = "one", **fields: Any) -> str:
    """Create an agent of an adapter and wait until it answers."""
    made = await desk_of(rig).create(NewAgent(name="helper", runtime=runtime, **fields))
    await rig.until(partial(is_in, rig, made.id, "ready"))
    return made.id


async def ask(rig: Rig, text: str, **more: Any) -> tuple[str, str]:
    """Say something to the agent; return the outcome and the reply."""
    message_id = await rig.say(text, agent="helper", **more)
    outcome = await rig.outcome(message_id)
    result = await rig.store.inbox.result(message_id)
    assert result is not None
    return outcome, result.text


async def test_an_adapter_answers_and_keeps_its_session(tmp_path: Path) -> None:
    adapter = ScriptedAdapter()
    async with open_rig(tmp_path, adapters={"one": adapter}) as rig:
        key = await make(rig)
        first = await ask(rig, "hello")
        second = await ask(rig, "and now?")

        assert (first, second) == (
            ("answered", "scripted: hello"),
            ("answered", "scripted: and now?"),
        )
        assert [call.session for call in adapter.calls] == [
            "",
            f"scripted-agent:{key}:rest:dm:ann#0",
        ]
        assert [message.text for message in adapter.calls[1].messages] == [
            "hello",
            "scripted: hello",
            "and now?",
        ]
        assert rig.model.calls == []


async def test_its_cost_is_the_persons(tmp_path: Path) -> None:
    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter()}) as rig:
        key = await make(rig)
        message_id = await rig.say("hello", agent="helper")
        await rig.outcome(message_id)
        timeline = await rig.timeline(message_id)
        day = "2000-01-01", "2100-01-01"
        by_model, by_agent = [
            await rig.store.spend.report(by, first_day=day[0], last_day=day[1])
            for by in ("model", "agent")
        ]

        assert timeline.result is not None
        assert (timeline.result.model, timeline.result.usage.cost_usd) == ("one:script-1", 0.01)
        assert [(row.name, row.cost_usd) for row in by_model] == [("one:script-1", 0.01)]
        assert [(row.name, row.cost_usd) for row in by_agent] == [(key, 0.01)]


async def test_a_new_conversation_has_a_new_session(tmp_path: Path) -> None:
    adapter = ScriptedAdapter()
    async with open_rig(tmp_path, adapters={"one": adapter}) as rig:
        key = await make(rig)
        await ask(rig, "hello")
        await rig.outcome(await rig.say("/new", agent="helper"))
        await ask(rig, "hello again")

        assert [(call.session, call.conversation[-2:]) for call in adapter.calls] == [
            ("", "#0"),
            ("", "#1"),
        ]
        kept = await rig.store.turns.kept_session(f"agent:{key}:rest:dm:ann")
        assert kept is not None
        assert kept.id.endswith("#1")


async def test_what_is_taken_back_is_in_no_session(tmp_path: Path) -> None:
    adapter = ScriptedAdapter()
    async with open_rig(tmp_path, adapters={"one": adapter}) as rig:
        await make(rig)
        await ask(rig, "a secret")
        await rig.outcome(await rig.say("/undo", agent="helper"))
        await ask(rig, "hello")

        assert (adapter.calls[-1].session, len(adapter.calls[-1].messages)) == ("", 1)


async def test_a_session_is_one_persons_also_in_a_thread_of_several(tmp_path: Path) -> None:
    adapter = ScriptedAdapter()
    async with open_rig(tmp_path, adapters={"one": adapter}) as rig:
        await make(rig)
        in_thread = {"chat": "room", "chat_type": "group", "thread": "7"}
        for user in ("ann", "bob", "bob"):
            await ask(rig, f"hello from {user}", user=user, **in_thread)

        assert [bool(call.session) for call in adapter.calls] == [False, False, True]


async def test_a_failure_is_told_and_the_next_turn_goes_on(tmp_path: Path) -> None:
    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter()}) as rig:
        await make(rig)
        failed = await ask(rig, "crash now")
        after = await ask(rig, "hello")

        assert failed[0] == "failed"
        assert failed[1].startswith("scripted: ")
        assert after == ("answered", "scripted: hello")


@pytest.mark.req("J1", "A25")
async def test_a_call_that_a_crash_cut_off_goes_on_in_its_session(tmp_path: Path) -> None:
    before = ScriptedAdapter()
    async with open_rig(tmp_path, adapters={"one": before}) as rig:
        key = await make(rig)
        message_id = await rig.say("hang on", agent="helper")
        kept = partial(rig.store.turns.kept_session, f"agent:{key}:rest:dm:ann")
        await rig.until(some(kept))

    after = ScriptedAdapter()
    after.go_on.set()
    async with open_rig(tmp_path, adapters={"one": after}) as rig:
        outcome = await rig.outcome(message_id)
        result = await rig.store.inbox.result(message_id)

    assert result is not None
    assert (outcome, result.text) == ("answered", "scripted: hang on (again)")
    assert (before.worked, after.worked) == (["hang on"], [])
    assert [call.was_cut_off for call in after.calls] == [True]
    assert before.closed == 1


@pytest.mark.req("J1", "A25")
async def test_a_call_without_a_session_is_never_made_again(tmp_path: Path) -> None:
    before = ScriptedAdapter(forgets=True)
    async with open_rig(tmp_path, adapters={"one": before}) as rig:
        await make(rig)
        message_id = await rig.say("hang on", agent="helper")
        await rig.until(lambda: bool(before.worked))

    after = ScriptedAdapter(forgets=True)
    async with open_rig(tmp_path, adapters={"one": after}) as rig:
        outcome = await rig.outcome(message_id)
        result = await rig.store.inbox.result(message_id)

    assert result is not None
    assert (outcome, after.worked) == ("failed", [])
    assert "a part of it may be done already" in result.text
    assert result.code == "adapter_lost"


async def test_an_adapter_that_changes_its_session_without_end_is_ended(tmp_path: Path) -> None:
    adapter = ScriptedAdapter()
    async with open_rig(tmp_path, adapters={"one": adapter}) as rig:
        await make(rig)
        failed = await ask(rig, "wander")
        after = await ask(rig, "hello")

        assert failed[0] == "failed"
        assert "more than 100 times" in failed[1]
        assert adapter.closed == 2
        assert after == ("answered", "scripted: hello")


async def test_a_question_waits_for_the_person(tmp_path: Path) -> None:
    adapter = ScriptedAdapter()
    async with open_rig(tmp_path, adapters={"one": adapter}) as rig:
        lane = f"agent:{await make(rig)}:push:dm:ann"
        asked = await rig.say("ask first", agent="helper", platform="push")
        await rig.until(lambda: rig.core.questions.at(lane) is not None)
        answer = await rig.say("/approve", agent="helper", platform="push")

        assert await rig.outcome(answer) == "answered"
        assert await rig.outcome(asked) == "answered"
        result = await rig.store.inbox.result(asked)
        assert result is not None
        assert result.text == "scripted: allowed"


async def test_stop_ends_the_call(tmp_path: Path) -> None:
    adapter = ScriptedAdapter()
    async with open_rig(tmp_path, adapters={"one": adapter}) as rig:
        await make(rig)
        message_id = await rig.say("hang on", agent="helper")
        await rig.until(lambda: bool(adapter.worked))
        await rig.outcome(await rig.say("/stop", agent="helper"))

        assert await rig.outcome(message_id) == "interrupted"
        assert adapter.closed == 1


@pytest.mark.parametrize(
    ("adapter", "outcome"),
    [
        ({}, "failed"),
        ({"people": ["rest:bob"]}, "failed"),
        ({"people": ["rest:ann"]}, "answered"),
        ({"roles": ["owner"]}, "failed"),
        ({"roles": ["free"]}, "answered"),
    ],
)
async def test_a_program_works_only_for_whom_the_agent_names(
    tmp_path: Path, adapter: dict[str, Any], outcome: str
) -> None:
    program = ScriptedAdapter(needs_grant=True)
    async with open_rig(tmp_path, adapters={"one": program}) as rig:
        await make(rig, adapter=adapter)

        assert (await ask(rig, "hello"))[0] == outcome
        assert len(program.calls) == (outcome == "answered")


async def test_an_agent_of_the_file_may_have_one(tmp_path: Path) -> None:
    runs = {"AGENTS__MAIN__RUNTIME": "one"}
    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter()}, settings=runs) as rig:
        assert await rig.answer("hello") == "scripted: hello"
        with pytest.raises(ConfigurationError, match=r"agents\.main\.runtime: there is no adapter"):
            check_runtimes(rig.core.settings, {})


async def test_without_a_gateway_nothing_is_swapped(tmp_path: Path) -> None:
    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter()}) as rig:
        await make(rig)
        alone = make_agent_operations(
            rig.store, rig.core.settings, clock=rig.clock, make_id=make_id, runtimes=("one", "two")
        )
        with pytest.raises(Conflict, match="only the running gateway can"):
            await alone.swap(AgentSwap(id="helper", runtime="two"))


async def test_an_adapter_that_cannot_be_called_is_not_chosen(tmp_path: Path) -> None:
    broken = ScriptedAdapter(problem="it is not installed")
    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter(), "two": broken}) as rig:
        await make(rig)
        desk = desk_of(rig)
        with pytest.raises(BadRequest, match="adapter cannot be called: it is not installed"):
            await desk.change(AgentChange(id="helper", runtime="two"))
        with pytest.raises(BadRequest, match="use hermes or one or two"):
            await desk.change(AgentChange(id="helper", runtime="three"))

        assert await ask(rig, "hello") == ("answered", "scripted: hello")
