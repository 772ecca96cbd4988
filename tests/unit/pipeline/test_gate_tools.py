"""`gate_tools` alone: which tools the model is shown, by the agent's list and the gate's mode."""

import asyncio
from dataclasses import dataclass
from typing import Literal

import msgspec
import pytest

from hermes.config import AgentSettings, GateSettings
from hermes.pipeline.stages.gate_tools import gate_tools
from hermes.pipeline.turn import Turn
from hermes.tools.gate import OPENING
from hermes.tools.gate_rules import LateGateRules
from hermes.tools.tool_sets import ToolSets
from tests.unit.pipeline.stage_parts import PICTURE, Context, SmallTool, make_event, make_turn

Mode = Literal["auto", "always", "off"]


@dataclass(frozen=True)
class Services:
    tool_sets: ToolSets
    gate_rules: LateGateRules


def context(mode: Mode, *names: str) -> Context[Services]:
    tools = ToolSets({name: SmallTool(name) for name in names})
    return Context(Services(tools, LateGateRules(GateSettings(mode=mode))))


async def names_for(turn: Turn, ctx: Context[Services]) -> list[str]:
    gated = await gate_tools(turn, ctx)
    assert isinstance(gated, Turn)
    return [spec.name for spec in gated.tools]


@pytest.mark.req("A17")
async def test_a17_without_tools_nothing_is_gated_or_noted() -> None:
    ctx, turn = context("always"), make_turn()

    assert await gate_tools(turn, ctx) is turn
    assert ctx.journal.notes == []


@pytest.mark.req("A17")
async def test_a17_the_agents_list_is_the_outer_bound_in_every_mode() -> None:
    agent = AgentSettings(tools=("search", "absent"))
    modes: tuple[Mode, ...] = ("auto", "always", "off")
    for mode in modes:
        ctx = context(mode, "search", "book")
        turn = make_turn(make_event("what is new in Rome?"), agent=agent)

        assert await names_for(turn, ctx) == ["search"]


@pytest.mark.req("A17")
@pytest.mark.parametrize(
    ("mode", "sent"), [("always", []), ("auto", []), ("off", ["book", "search"])]
)
async def test_a17_a_greeting_at_the_start_gets_no_tools_unless_the_gate_is_off(
    mode: Mode, sent: list[str]
) -> None:
    ctx = context(mode, "search", "book")

    assert await names_for(make_turn(make_event("hello")), ctx) == sent
    ((kind, noted),) = ctx.journal.notes
    assert (kind, noted["sent"]) == ("gated", tuple(sent))


@pytest.mark.req("A17", "W21")
async def test_w21_once_a_session_has_begun_its_tools_stay_the_same() -> None:
    late = msgspec.structs.replace(make_turn(make_event("hello")), head=OPENING + 1)

    assert await names_for(late, context("auto", "search")) == ["search"]
    assert await names_for(late, context("always", "search")) == []


@pytest.mark.req("A17")
async def test_a17_a_greeting_with_something_attached_is_no_small_talk() -> None:
    turn = make_turn(make_event("hello", attached=(PICTURE,)))

    assert await names_for(turn, context("auto", "search")) == ["search"]


async def test_turns_that_come_together_share_the_rules() -> None:
    late = LateGateRules(GateSettings())

    first, second = await asyncio.gather(late.get(), late.get())

    assert first is second


async def test_a_first_turn_that_is_cancelled_leaves_the_rules_to_the_next() -> None:
    late = LateGateRules(GateSettings())
    first = asyncio.create_task(late.get())
    second = asyncio.create_task(late.get())
    await asyncio.sleep(0)

    first.cancel()

    assert (await second).mode == "auto"
