"""G5, P6: a real gateway in front of a small model that refuses what it cannot hold.

One conversation of many long messages, with summaries and without, over a `kill -9` while a summary
is made: every message is answered, and `hermes graph verify` finds nothing.
"""

from pathlib import Path

import aiohttp
import pytest

from hermes.testing.model_script import ScriptedTurn, SeenConversation
from hermes.testing.model_server import ModelServer
from tests.system.live import Live, live_gateway, run_command

MESSAGES = 60
CONTEXT = 32_000
FOUR_KB = "The ferry leaves at seven and the tickets are in the blue bag. " * 64


def settings(model: ModelServer, **more: str) -> dict[str, str]:
    return {
        "HERMES_PROVIDERS__OPENAI__BASE_URL": model.base_url,
        "HERMES_PROVIDERS__OPENAI__API_KEY": "sk-test",
        "HERMES_PROVIDERS__OPENAI__CONTEXT_TOKENS": str(CONTEXT),
        **more,
    }


def short(seen: SeenConversation, _number: int) -> ScriptedTurn:
    return ScriptedTurn(text=f"I see {seen.user_messages}.")


async def say(live: Live, numbers: range) -> list[object]:
    async with aiohttp.ClientSession() as session:
        return [
            (await live.post(session, sender="ann", text=f"{number}: {FOUR_KB}"))["outcome"]
            for number in numbers
        ]


@pytest.mark.req("G5", "P6")
@pytest.mark.parametrize("summaries", ["true", "false"])
async def test_every_message_of_a_long_conversation_is_answered(
    tmp_path: Path, summaries: str
) -> None:
    home = tmp_path / "home"
    async with ModelServer(short, context_tokens=CONTEXT) as model:
        given = settings(model, HERMES_COMPACTION__ENABLED=summaries)
        async with live_gateway(home, given) as live:
            outcomes = await say(live, range(MESSAGES))
        checked = await run_command(home, "graph", "verify", more=given)
        asked_to_sum_up = [
            one for one in model.invocations if one.text.startswith("Summary so far")
        ]

    assert outcomes == ["answered"] * MESSAGES
    assert checked.returncode == 0, checked.stdout
    assert bool(asked_to_sum_up) == (summaries == "true")


async def say_until_it_dies(live: Live) -> int:
    """Return how many messages were answered before the gateway was gone."""
    for number in range(MESSAGES):
        try:
            await say(live, range(number, number + 1))
        except aiohttp.ClientError:
            await live.process.wait()
            return number
    raise AssertionError("no summary was made")


@pytest.mark.req("G5", "J19", "J23")
@pytest.mark.parametrize("side", ["before", "after"])
async def test_a_kill_at_the_end_of_a_summary_leaves_all_of_it_or_nothing(
    tmp_path: Path, side: str
) -> None:
    home = tmp_path / "home"
    async with ModelServer(short, context_tokens=CONTEXT) as model:
        armed = settings(model, HERMES_FAILPOINTS=f"store.finish_compaction.{side}:1")
        async with live_gateway(home, armed) as live:
            answered = await say_until_it_dies(live)
        async with live_gateway(home, settings(model)) as live:
            outcomes = await say(live, range(1_000, 1_000 + MESSAGES // 3))
        checked = await run_command(home, "graph", "verify", more=settings(model))

    assert answered > 5
    assert outcomes == ["answered"] * (MESSAGES // 3)
    assert checked.returncode == 0, checked.stdout
