"""Agents that change while the gateway runs: what turns see of it, also after a kill."""

from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes.app.make_agents import make_agent_operations, make_check
from hermes.control.agent_orders import AgentChange, AgentEnd, AgentOrder, NewAgent
from hermes.control.agents import AgentOperations
from hermes.errors import AgentNotReady, AgentUnavailable, BadRequest, NotFound
from hermes.message.ids import make_id
from hermes.ports.provider import ModelRequest
from hermes.ports.tool import ToolContext
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from hermes.testing.scripted_model import SCRIPTED_INFO, ScriptedProvider
from tests.contract.journal.rig import Rig, RunTool, open_rig

pytestmark = pytest.mark.req("M8")
OLD = "You are the old one."
NEW = "You are the new one."
STEP_S = 10


def desk_of(rig: Rig) -> AgentOperations:
    settings = rig.core.settings
    return make_agent_operations(
        rig.store,
        settings,
        clock=rig.clock,
        make_id=make_id,
        check=make_check(rig.core.models, settings, adapters=rig.core.adapters),
        runtimes=("hermes", *rig.core.adapters),
    )


async def make(rig: Rig, **fields: Any) -> str:
    """Create an agent and wait until it answers."""
    made = await desk_of(rig).create(NewAgent(name="helper", system_prompt=OLD, **fields))
    await rig.until(partial(is_in, rig, made.id, "ready"))
    return made.id


async def is_in(rig: Rig, agent: str, state: str) -> bool:
    found = await rig.store.agents.find(agent)
    return found is not None and found.state == state


def read(request: ModelRequest) -> tuple[str, float | None]:
    return request.system[0], request.temperature


def uses_tool_once(seen: SeenConversation, _number: int) -> ScriptedTurn:
    if "tool" in seen.last_text and not seen.tool_results:
        return ScriptedTurn(tools=(ToolUse("work", "{}"),))
    return ScriptedTurn(text="done")


@pytest.mark.req("J7")
async def test_j7_a_running_turn_keeps_the_agent_it_began_with(tmp_path: Path) -> None:
    desks: list[AgentOperations] = []

    async def work(_context: ToolContext) -> str:
        await desks[0].change(AgentChange(id="helper", system_prompt=NEW, temperature=0.5))
        return "changed"

    async with open_rig(tmp_path, script=uses_tool_once, tools=(RunTool("work", act=work),)) as rig:
        desks.append(desk_of(rig))
        await make(rig)
        during = await rig.outcome(await rig.say("use the tool", agent="helper"))
        after = await rig.outcome(await rig.say("hello", agent="helper"))

        assert (during, after) == ("answered", "answered")
        assert [read(call.request) for call in rig.model.calls] == [
            (OLD, None),
            (OLD, None),
            (NEW, 0.5),
        ]


@pytest.mark.req("J7", "J8")
async def test_j7_a_turn_goes_on_after_a_kill_with_the_agent_it_began_with(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await make(rig, temperature=0.1)
        said = await rig.say("[[hang]] hello", agent="helper")
        await rig.until(lambda: _called(rig, 1))
        await desk_of(rig).change(AgentChange(id="helper", system_prompt=NEW, temperature=0.5))

    async with open_rig(tmp_path, script=uses_tool_once) as rig:
        assert await rig.outcome(said) == "answered"
        assert await rig.outcome(await rig.say("and now", agent="helper")) == "answered"
        assert [read(call.request) for call in rig.model.calls] == [(OLD, 0.1), (NEW, 0.5)]


async def _called(rig: Rig, times: int) -> bool:
    return len(rig.model.calls) == times


@pytest.mark.req("J8")
async def test_a_check_that_a_kill_cut_off_is_made_by_the_next_process(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        made = await desk_of(rig).create(NewAgent(name="helper"))
        with pytest.raises(AgentNotReady):
            await rig.say("hello", agent="helper")

    async with open_rig(tmp_path) as rig:
        await rig.until(partial(is_in, rig, made.id, "ready"))
        assert await rig.outcome(await rig.say("hello", agent="helper")) == "answered"


async def test_a_failed_agent_is_checked_again_by_the_next_process(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        made = await desk_of(rig).create(NewAgent(name="helper", model="other:model"))
        await rig.until(partial(is_in, rig, made.id, "failed"))
        with pytest.raises(AgentUnavailable, match="other:model"):
            await rig.say("hello", agent="helper")

    other = ScriptedProvider(info=msgspec.structs.replace(SCRIPTED_INFO, name="other"))
    async with open_rig(tmp_path, beside={"other": other}) as rig:
        await rig.until(partial(is_in, rig, made.id, "ready"))
        assert await rig.outcome(await rig.say("hello", agent="helper")) == "answered"
        assert len(other.calls) == 1


async def test_an_agent_that_answers_keeps_its_model_if_the_new_one_cannot_be_called(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        agent = await make(rig)
        with pytest.raises(BadRequest, match="Nothing was changed"):
            await desk_of(rig).change(AgentChange(id="helper", model="other:model"))

        found = await rig.store.agents.find(agent)
        assert found is not None
        assert (found.state, found.version) == ("ready", 1)


async def test_messages_that_wait_for_a_stopped_agent_end_with_the_reason(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings={"BUSY__DEFAULT": "queue"}) as rig:
        await make(rig)
        first = await rig.say("[[hang]] first", agent="helper")
        await rig.until(lambda: _called(rig, 1))
        second = await rig.say("second", agent="helper")
        await desk_of(rig).stop(AgentOrder(id="helper"))
        await rig.say("/stop", agent="helper")

        assert await rig.outcome(first) == "interrupted"
        assert await rig.outcome(second) == "failed"
        assert "helper" in (await result_of(rig, second))


async def test_a_turn_that_runs_when_the_time_of_its_agent_has_come_is_stopped(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        agent = await make(rig)
        said = await rig.say("[[hang]] hello", agent="helper")
        await rig.until(lambda: _called(rig, 1))
        await desk_of(rig).delete(AgentEnd(id="helper", grace_s=100))
        with pytest.raises(AgentUnavailable, match="deleted"):
            await rig.say("more", agent="helper")

        await desk_of(rig).delete(AgentEnd(id="helper", grace_s=0))

        assert await rig.outcome(said) == "interrupted"
        assert await rig.store.agents.find(agent) is None
        with pytest.raises(NotFound, match="helper"):
            await rig.say("more", agent="helper")


async def test_a_turn_of_an_agent_that_is_gone_after_a_kill_ends_with_the_reason(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        agent = await make(rig)
        said = await rig.say("[[hang]] hello", agent="helper")
        await rig.until(lambda: _called(rig, 1))
        clock = rig.clock

    async with open_rig(tmp_path, clock=clock, start=False) as rig:
        await rig.store.agents.set_state(
            agent, "deleting", while_in=("ready",), at=1.0, delete_at=2.0
        )
        await rig.store.agents.remove(agent, now=3.0)
        await rig.start()

        assert await rig.outcome(said) == "failed"
        assert "no longer here" in await result_of(rig, said)


async def result_of(rig: Rig, message_id: str) -> str:
    found = await rig.store.inbox.result(message_id)
    assert found is not None
    return found.text


async def test_a_budget_of_a_stored_agent_holds_its_calls(tmp_path: Path) -> None:
    prices = {
        "BUDGETS__ASSUMED_USD_PER_MILLION": "1000",
        "BUDGETS__PLATFORM_DAY_USD": "100",
    }
    async with open_rig(tmp_path, settings=prices) as rig:
        await make(rig, budget_day_usd=0.0)

        assert await rig.outcome(await rig.say("hello", agent="helper")) == "failed"
        assert rig.model.calls == []


async def test_a_name_that_the_file_takes_later_means_the_agent_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_rig(tmp_path) as rig:
        agent = await make(rig)

    in_file = {"AGENTS__HELPER__SYSTEM_PROMPT": NEW}
    async with open_rig(tmp_path, settings=in_file) as rig:
        assert await rig.outcome(await rig.say("hello", agent="helper")) == "answered"
        assert await rig.outcome(await rig.say("hello", agent=agent)) == "answered"
        assert [read(call.request)[0] for call in rig.model.calls] == [NEW, OLD]

    assert "agent_name_taken" in capsys.readouterr().out
