"""The very first reply: an empty home, no key, nothing configured, and the real demonstration model."""

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

import aiohttp
import pytest

from tests.system.live import cold_gateway, environment

# The one of the README, and one that a model with tools would delegate.
QUESTIONS = ("What is a gateway?", "Research how a rainbow forms in parallel")
ENDS = (".", "!", "?", "…", '"', ")")
LONG = "Tell me a long story about a dragon"
LONG_TURNS = (LONG, "Tell me a long story about the sea", "Tell me a long story about a king")
SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]*]*$")


@pytest.mark.req("M7", "A17", "W1")
async def test_a_newcomer_is_answered_in_whole_sentences_and_without_tools(tmp_path: Path) -> None:
    async with (
        cold_gateway(tmp_path / "home") as live,
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


@pytest.mark.req("M7", "A17")
async def test_a_long_answer_ends_with_a_sentence_unless_the_caller_sets_its_limit(
    tmp_path: Path,
) -> None:
    cap = {"HERMES_PROVIDERS__LOCAL__MAX_OUTPUT_TOKENS": "40"}
    async with (
        cold_gateway(tmp_path / "home", cap) as live,
        aiohttp.ClientSession(live.url, headers=live.bearer) as http,
    ):
        told = [await live.post(http, sender="newcomer", text=text) for text in LONG_TURNS]
        asked = {"model": "auto", "messages": [{"role": "user", "content": LONG}]}
        async with http.post("/v1/chat/completions", json={**asked, "max_tokens": 7}) as answer:
            limited = await answer.json()

    assert [one["outcome"] for one in told] == ["answered"] * len(LONG_TURNS)
    assert all(SENTENCE_END.search(str(one["reply"]).strip()) for one in told), told
    [choice] = limited["choices"]
    assert (choice["finish_reason"], limited["usage"]["completion_tokens"]) == ("length", 7)
    assert "…" not in choice["message"]["content"]


@pytest.mark.req("W19", "A9", "P6")
async def test_ctrl_c_stops_the_answer_and_not_the_model(tmp_path: Path) -> None:
    endless = {"HERMES_PROVIDERS__LOCAL__MAX_OUTPUT_TOKENS": "2000"}
    chat = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hermes", "chat", "--message", LONG,
        env=environment(tmp_path / "home", endless), start_new_session=True,
        stdin=DEVNULL, stdout=PIPE, stderr=PIPE,
    )  # fmt: skip
    assert chat.stdout is not None
    async with asyncio.timeout(120):
        begun = await chat.stdout.read(1)
        os.killpg(
            chat.pid, signal.SIGINT
        )  # as a terminal does: everything in the foreground gets it
        told, notes = await chat.communicate()

    assert (bool(begun), chat.returncode) == (True, 0), told + notes
