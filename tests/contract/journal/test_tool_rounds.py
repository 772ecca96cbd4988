"""A9: the rounds of tool calls of one message are capped, per agent and over a crash."""

import asyncio
from pathlib import Path

import pytest

from hermes.message.parts import tool_calls_of
from hermes.ports.tool import ToolTraits
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from tests.contract.journal.rig import Rig, RunTool, open_rig

LOOK = ToolUse("look", "{}")


def insatiable(_seen: SeenConversation, number: int) -> ScriptedTurn:
    """A model that asks for a tool with every answer, offered or not."""
    return ScriptedTurn(text=f"answer {number}", tools=(LOOK,))


def speechless(_seen: SeenConversation, _number: int) -> ScriptedTurn:
    """A model that asks for a tool with every answer, and says nothing."""
    return ScriptedTurn(tools=(LOOK,))


def offered(rig: Rig) -> list[int]:
    """Return how many tools each model call was offered."""
    return [len(call.request.tools) for call in rig.model.calls]


async def steps(rig: Rig, message_id: str) -> list[str]:
    return [step.kind for step in (await rig.timeline(message_id)).steps if step.kind != "prepared"]


def caps(**agents: int) -> dict[str, str]:
    return {f"AGENTS__{name.upper()}__TOOL_ROUNDS": str(cap) for name, cap in agents.items()}


@pytest.mark.req("A9")
async def test_a9_at_the_cap_the_person_gets_the_models_last_words(tmp_path: Path) -> None:
    look = RunTool("look")
    async with open_rig(tmp_path, script=insatiable, tools=(look,), settings=caps(main=2)) as rig:
        message_id = await rig.say("look around")

        assert await rig.outcome(message_id) == "answered"

        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert (result.text, [use.name for use in result.tool_calls]) == (
            "answer 3",
            ["look", "look"],
        )
        assert (look.runs, offered(rig)) == (2, [1, 1, 0])
        assert await steps(rig, message_id) == ["model", "tool", "model", "tool", "model"]


@pytest.mark.req("A9", "G7")
async def test_a9_what_is_written_holds_no_call_that_nobody_ran(tmp_path: Path) -> None:
    async with open_rig(
        tmp_path, script=insatiable, tools=(RunTool("look"),), settings=caps(main=1)
    ) as rig:
        await rig.answer("look around")
        await rig.answer("again")

        said = rig.model.calls[-1].request.messages
        calls = [call for message in said for call in tool_calls_of(message.parts)]
        texts = [message.text for message in said if message.role == "assistant"]
        assert texts == ["answer 1", "answer 2", "answer 3"]
        assert len(calls) == 2


@pytest.mark.req("A7", "A9", "A8")
async def test_a9_a_model_that_only_asks_for_tools_ends_in_words_all_the_same(
    tmp_path: Path,
) -> None:
    look = RunTool("look")
    async with open_rig(tmp_path, script=speechless, tools=(look,), settings=caps(main=1)) as rig:
        told = await rig.answer("look")
        assert told.startswith("I could not put this into words just now.")
        assert told.endswith("look ran")
        assert (look.runs, offered(rig)) == (1, [1, 0])


@pytest.mark.req("A9")
async def test_a9_without_a_setting_there_are_8_rounds(tmp_path: Path) -> None:
    look = RunTool("look")
    async with open_rig(tmp_path, script=insatiable, tools=(look,)) as rig:
        assert await rig.answer("look around") == "answer 9"
        assert (look.runs, offered(rig)) == (8, [1] * 8 + [0])


@pytest.mark.req("A9")
async def test_a9_each_agent_has_its_own_cap_and_each_message_its_own_rounds(
    tmp_path: Path,
) -> None:
    settings = {**caps(main=2, calm=1, mute=0), "TURNS__TOOL_ROUNDS": "5"}
    settings["AGENTS__FREE__NAME"] = "Free"
    async with open_rig(
        tmp_path, script=insatiable, tools=(RunTool("look"),), settings=settings
    ) as rig:
        made: list[int] = []
        for agent in ("main", "calm", "mute", "free", "main"):
            before = len(rig.model.calls)
            await rig.outcome(await rig.say("look around", agent=agent))
            made.append(len(rig.model.calls) - before)

        assert made == [3, 2, 1, 6, 3]


@pytest.mark.req("A9", "J8")
async def test_a9_calls_side_by_side_are_one_round(tmp_path: Path) -> None:
    tools = tuple(RunTool(name, traits=ToolTraits(parallel=True)) for name in "abc")

    def asks_for_three(_seen: SeenConversation, number: int) -> ScriptedTurn:
        return ScriptedTurn(text=f"answer {number}", tools=tuple(ToolUse(n, "{}") for n in "abc"))

    async with open_rig(tmp_path, script=asks_for_three, tools=tools, settings=caps(main=2)) as rig:
        assert await rig.answer("all of them") == "answer 3"
        assert [one.runs for one in tools] == [2, 2, 2]


@pytest.mark.req("A9", "J8")
@pytest.mark.parametrize(("idempotent", "runs"), [(False, 0), (True, 1)])
async def test_a9_rounds_before_a_crash_count_after_it(
    tmp_path: Path, idempotent: bool, runs: int
) -> None:
    clock = ManualClock()
    traits = ToolTraits(idempotent=idempotent)
    first = RunTool(
        "look", lambda _: asyncio.Event().wait() if first.runs == 2 else None, traits=traits
    )
    settings = caps(main=2)
    async with open_rig(
        tmp_path, script=insatiable, tools=(first,), clock=clock, settings=settings
    ) as rig:
        message_id = await rig.say("look around")
        await rig.until(lambda: first.runs == 2)

    again = RunTool("look", traits=traits)
    async with open_rig(
        tmp_path, script=insatiable, tools=(again,), clock=clock, settings=settings
    ) as rig:
        assert await rig.outcome(message_id) == "answered"

        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert result.text == "answer 1"
        assert (again.runs, offered(rig)) == (runs, [0])


@pytest.mark.req("A9", "J8")
async def test_a9_a_crash_in_the_last_call_leaves_no_further_round(tmp_path: Path) -> None:
    clock = ManualClock()
    look = RunTool("look")

    def hangs_at_last(_seen: SeenConversation, number: int) -> ScriptedTurn:
        return ScriptedTurn(text="answer", tools=(LOOK,), fault="hang" if number == 2 else None)

    settings = caps(main=1)
    async with open_rig(
        tmp_path, script=hangs_at_last, tools=(look,), clock=clock, settings=settings
    ) as rig:
        message_id = await rig.say("look around")
        await rig.until(lambda: len(rig.model.calls) == 2)

    async with open_rig(
        tmp_path, script=insatiable, tools=(look,), clock=clock, settings=settings
    ) as rig:
        assert await rig.outcome(message_id) == "answered"
        assert (look.runs, offered(rig)) == (1, [0])
