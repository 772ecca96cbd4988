"""The plan that a turn gets: from its agent, its person and what it needs, told on its timeline."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract.journal.rig import Rig, RunTool, open_rig

SCRIPTED = {"PROVIDERS__SCRIPTED__BASE_URL": "http://127.0.0.1:9/v1"}


async def routed(rig: Rig, message_id: str) -> dict[str, Any]:
    return next(one.data for one in (await rig.timeline(message_id)).events if one.kind == "routed")


@pytest.mark.req("P7")
async def test_a_turn_is_routed_by_the_tree_and_tells_the_rule(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say("hello")
        await rig.outcome(message_id)

        assert await routed(rig, message_id) == {
            "wanted": "auto",
            "candidates": [
                {
                    "model": "scripted:scripted-1",
                    "rule": "any available provider that can do chat",
                }
            ],
            "dropped": [],
        }


@pytest.mark.req("P6")
async def test_a_turn_may_lose_its_oldest_messages_to_a_small_model(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.outcome(await rig.say("hello"))

        assert rig.model.calls[0].request.cut_history


@pytest.mark.req("A19")
@pytest.mark.parametrize(
    ("settings", "tier"),
    [
        ({"ROUTING__BY_TIER": "true", "ROUTING__TIERS__FREE": "scripted:tiered"}, "free"),
        ({"AGENTS__MAIN__TIER": "gold", "ROUTING__TIERS__GOLD": "scripted:tiered"}, "gold"),
    ],
    ids=["the person's tier", "the agent's tier"],
)
async def test_a_tier_chooses_the_model(
    tmp_path: Path, settings: dict[str, str], tier: str
) -> None:
    async with open_rig(tmp_path, settings={**SCRIPTED, **settings}) as rig:
        message_id = await rig.say("hello")
        await rig.outcome(message_id)

        assert rig.model.calls[0].request.model == "tiered"
        assert (await routed(rig, message_id))["wanted"] == f"tier {tier}"
        assert (await routed(rig, message_id))["candidates"][0]["rule"] == (
            f"tier {tier}, 1 of 1: scripted:tiered"
        )


@pytest.mark.req("A19", "P3")
async def test_a_tier_without_by_tier_decides_nothing(tmp_path: Path) -> None:
    settings = {
        **SCRIPTED,
        "ROUTING__TIERS__FREE": "scripted:tiered",
        "ROUTING__TASK_ROUTES__DEEP_REASONING__PRIMARY": "scripted:deep",
    }
    async with open_rig(tmp_path, settings=settings) as rig:
        await rig.outcome(await rig.say("hello"))
        await rig.outcome(await rig.say("explain this"))

        assert [call.request.model for call in rig.model.calls] == ["scripted-1", "deep"]


async def reason_of_failure(rig: Rig) -> str:
    message_id = await rig.say("what can you do")
    assert await rig.outcome(message_id) == "failed"
    result = await rig.store.inbox.result(message_id)
    assert result is not None
    return result.reason or ""


@pytest.mark.req("P1", "M2")
async def test_no_available_model_fails_the_turn_with_the_reasons(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        rig.model.is_available = False

        assert "no model can answer (scripted: not available)" in await reason_of_failure(rig)


@pytest.mark.req("A23")
async def test_a_turn_with_tools_skips_a_model_that_is_known_to_have_none(tmp_path: Path) -> None:
    settings = {
        **SCRIPTED,
        "AGENTS__MAIN__TIER": "gold",
        "ROUTING__TIERS__GOLD": "scripted:text-embedding-3-small",
    }
    async with open_rig(tmp_path, settings=settings, tools=(RunTool("look"),)) as rig:
        reason = await reason_of_failure(rig)

        assert "scripted: cannot call tools, and tools are in play" in reason
        assert rig.model.calls == []
    async with open_rig(tmp_path, settings=settings) as rig:
        assert await rig.answer("hello", chat="bob") == "#1 hello"
