"""W39: what was read of a session is used again, as long as it is kept; what is let go is read anew.

The same object in two requests was decoded once; an equal one that is another was read again.
"""

import asyncio
from pathlib import Path

import pytest

from hermes.message.chat import ChatMessage
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from hermes.tools.together import ToolsTogether
from hermes.tools.tool_sets import ToolSets
from tests.contract.journal.rig import Rig, RunTool, open_rig

HOUR = 3_601
TWO = {"SESSIONS__CACHE__MAX": "2"}


def first_of(rig: Rig) -> ChatMessage:
    """Return the session's first message as the model was given it last."""
    return rig.model.calls[-1].request.messages[0]


async def opened(rig: Rig, chat: str = "ann") -> ChatMessage:
    """Begin a session; returns its first message as it is kept ready."""
    await rig.answer("hello", chat=chat)
    await rig.answer("more", chat=chat)
    return first_of(rig)


async def is_reused(rig: Rig, ready: ChatMessage, *, chat: str = "ann") -> bool:
    """Tell whether the session's next turn uses what is ready; what it reads is the same anyhow."""
    await rig.answer("and more", chat=chat)
    assert first_of(rig) == ready
    return first_of(rig) is ready


@pytest.mark.req("W39")
async def test_w39_what_is_ready_is_reused_also_after_a_run_that_failed(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        ready = await opened(rig)
        assert await is_reused(rig, ready)
        failed = await rig.say("[[fail:400]]")
        assert await rig.outcome(failed) == "failed"
        assert await is_reused(rig, ready)


@pytest.mark.req("W39", "W24")
async def test_w39_the_watch_lets_go_of_it_after_an_hour_of_silence(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        ready = await opened(rig)
        rig.clock.advance(HOUR / 2)
        await rig.core.sessions.watch.round()
        assert await is_reused(rig, ready)
        rig.clock.advance(HOUR)
        await rig.core.sessions.watch.round()
        assert len(rig.core.sessions.keep) == 0
        assert not await is_reused(rig, ready)


@pytest.mark.req("W39")
async def test_w39_only_so_many_sessions_are_kept_as_the_settings_say(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=TWO) as rig:
        ann, bob = await opened(rig, "ann"), await opened(rig, "bob")
        assert await is_reused(rig, ann, chat="ann")
        await opened(rig, "cal")
        assert await is_reused(rig, ann, chat="ann")
        assert not await is_reused(rig, bob, chat="bob")


@pytest.mark.req("W39")
async def test_w39_a_session_that_runs_is_kept_however_long(tmp_path: Path) -> None:
    gate = asyncio.Event()
    tool = RunTool("wait", lambda _: gate.wait())
    settings = {**TWO, "SESSIONS__CACHE__IDLE_S": "5"}
    async with open_rig(tmp_path, tools=(tool,), settings=settings) as rig:
        ready = await opened(rig)
        running = await rig.say("[[tool:wait]]")
        await rig.until(lambda: tool.runs == 1)
        for chat in ("bob", "cal", "dan"):
            await opened(rig, chat)
        rig.clock.advance(6)
        await rig.core.sessions.watch.round()
        gate.set()
        assert await rig.outcome(running) == "answered"
        assert await is_reused(rig, ready)


@pytest.mark.req("W39")
async def test_w39_another_model_lets_go_of_what_was_ready(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        ready = await opened(rig)
        await rig.answer("/model scripted:scripted-1")
        assert not await is_reused(rig, ready)
        ready = first_of(rig)
        assert await is_reused(rig, ready)
        # the same one, by another word
        await rig.answer("/model auto")
        rig.core.models.planner.default_model = "scripted:scripted-1"
        assert await is_reused(rig, ready)
        rig.core.models.planner.default_model = None
        assert not await is_reused(rig, ready)


@pytest.mark.req("W39")
def test_w39_a_tool_that_comes_or_goes_is_another_setup() -> None:
    brought = {"look": RunTool("look")}
    sets = ToolSets(ToolsTogether(brought))
    before = sets.version
    assert sets.version == before
    brought["pay"] = RunTool("pay")
    assert sets.version != before


def in_background(seen: SeenConversation, _number: int) -> ScriptedTurn:
    if seen.last_text.startswith("look") and not seen.tool_results:
        return ScriptedTurn(tools=(ToolUse("wait"),))
    return ScriptedTurn(text=" ".join(seen.tool_results) or "well")


@pytest.mark.req("W39", "W18")
async def test_w39_letting_go_of_a_session_ends_nothing_that_runs_for_it(tmp_path: Path) -> None:
    gate = asyncio.Event()
    tool = RunTool("wait", lambda _: gate.wait())
    settings = {"SESSIONS__CACHE__IDLE_S": "5"}
    async with open_rig(tmp_path, tools=(tool,), script=in_background, settings=settings) as rig:
        ready = await opened(rig)
        await rig.answer("/background look around")
        await rig.until(lambda: tool.runs == 1)
        rig.clock.advance(6)
        await rig.core.sessions.watch.round()

        assert not await is_reused(rig, ready)
        assert rig.core.lanes.running() == 1
        gate.set()
        await rig.until(lambda: rig.store.inbox.waiting() == 0)
        assert tool.runs == 1
        await rig.answer("what came of it?")
        told = [message.text for message in rig.model.calls[-1].request.messages]
        assert "In the background: look around\n\nTrue" in told
