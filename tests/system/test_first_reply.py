"""The very first reply: an empty home, no key, nothing configured, and the real demonstration model."""

from pathlib import Path

import aiohttp
import pytest

from tests.system.live import live_gateway

# The one of the README, and one that a model with tools would delegate.
QUESTIONS = ("What is a gateway?", "Research how a rainbow forms in parallel")
ENDS = (".", "!", "?", "…", '"', ")")


@pytest.mark.req("M7", "A17", "W1")
async def test_a_newcomer_is_answered_in_whole_sentences_and_without_tools(tmp_path: Path) -> None:
    async with (
        live_gateway(tmp_path / "home") as live,
        aiohttp.ClientSession(live.url, headers=live.bearer) as http,
    ):
        async with http.get("/control/status") as answer:
            providers = {one["name"]: one for one in (await answer.json())["providers"]}
        assert not providers["openai"]["available"]
        assert providers["local"]["demonstration"]

        for text in QUESTIONS:
            said = await live.post(http, sender="newcomer", conversation=text, text=text)
            async with http.get(f"/control/why/{said['id']}") as answer:
                why = await answer.json()

            assert (said["outcome"], said["tool_calls"]) == ("answered", [])
            assert str(said["model"]).startswith("local:")
            assert why["tools"]["sent"] == []
            assert str(said["reply"]).strip().endswith(ENDS)
