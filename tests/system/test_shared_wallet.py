"""A hundred messages at once on one wallet of ten credits, through a real gateway process."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import aiohttp
import pytest

from tests.system.live import (
    Live,
    live_gateway,
    model_server,
    run_command,
    with_model,
)

CHATS, CREDITS = 100, 10
WALLET = {
    # One person has all these chats.
    "HERMES_INBOX__MAX_WAITING_EACH": str(CHATS),
    "HERMES_CREDITS__POLICY": "wallet",
    "HERMES_CREDITS__START_GRANT": str(CREDITS),
    "HERMES_CREDITS__UPGRADE_MESSAGE": "No credits left. Your code is {referral_code}.",
}


async def hermes(live: Live, *arguments: str) -> tuple[int, dict[str, object]]:
    done = await run_command(live.home, *arguments, "--json")
    return done.returncode, json.loads(done.stdout)


async def say_at_once(
    live: Live, http: aiohttp.ClientSession, text: str, *, chats: int
) -> list[dict[str, object]]:
    """Let one person say the same in many chats, all at the same time."""
    said = (
        live.post(http, sender="ann", text=text, conversation=f"{text} {number}")
        for number in range(chats)
    )
    return await asyncio.gather(*said)


@pytest.mark.req("A5", "A6", "J10", "J11")
async def test_100_chats_on_10_credits_are_10_answers_and_90_upgrade_messages(
    tmp_path: Path,
) -> None:
    async with (
        model_server() as url,
        live_gateway(tmp_path / "home", {**with_model(url), **WALLET}) as live,
        aiohttp.ClientSession() as http,
    ):
        # What fails holds credits meanwhile, and gives all of them back.
        lost = await say_at_once(live, http, "[[fail:400]] hello", chats=2 * CREDITS)
        answers = await say_at_once(live, http, "hello", chats=CHATS)
        code, audit = await hermes(live, "credits", "audit")
        _, wallet = await hermes(live, "credits", "show", "rest:ann")

    assert {one["outcome"] for one in lost} <= {"failed", "refused"}
    assert sum(one["outcome"] == "failed" for one in lost) >= CREDITS
    assert Counter(one["outcome"] for one in answers) == {"answered": 10, "refused": 90}
    upgrade = f"No credits left. Your code is {wallet['referral_code']}."
    told = Counter(one["reply"] for one in answers)
    assert told == {"#1 hello": CREDITS, upgrade: CHATS - CREDITS}
    assert (code, audit["wrong"], audit["holds"]) == (0, 0, 0)
    assert (wallet["balance"], wallet["held"]) == (0, 0)
