"""W1: a turn ends at its time limit, with what it has, and is charged only for what was shown."""

from pathlib import Path

import pytest

from hermes.ports.tool import ToolTraits
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from tests.contract.journal.rig import Rig, RunTool, has, open_rig
from tests.contract.journal.test_wallet import ledger, wallet_of

pytestmark = pytest.mark.req("W1", "J11")

# The clock of these tests stands still: the limit is reached when a test moves it.
_LIMIT = wallet_of(5, TURNS__LIMIT_S="0.02")
_CAUSE = "the turn reached its time limit (turns.limit_s, or turn_limit_s of the agent)"


def tool_first(seen: SeenConversation, _number: int) -> ScriptedTurn:
    """Call the tool, and never say anything about what it found."""
    if seen.tool_results:
        return ScriptedTurn(fault="hang")
    return ScriptedTurn(tools=(ToolUse("lookup"),))


def half_a_sentence(_seen: SeenConversation, _number: int) -> ScriptedTurn:
    return ScriptedTurn(text="one two three four", deltas=4, fault="hang", after=2)


async def begin(rig: Rig, text: str) -> str:
    """Start a turn that waits for its model, or its tool."""
    calls = len(rig.model.calls)
    message_id = await rig.say(text)
    await rig.until(lambda: len(rig.model.calls) > calls)
    return message_id


async def end(rig: Rig, message_id: str) -> tuple[str, str, str | None]:
    """Return how a message ended: outcome, text, reason."""
    outcome = await rig.outcome(message_id)
    result = await rig.store.inbox.result(message_id)
    assert result is not None
    return outcome, result.text, result.reason


async def test_the_partial_text_is_kept_and_charged(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=half_a_sentence, settings=_LIMIT) as rig:
        message_id = await begin(rig, "count")
        async for progress in rig.core.gateway_api.watch(message_id):
            if progress.text:
                break
        rig.clock.advance(1)
        outcome, text, reason = await end(rig, message_id)

        assert (outcome, reason) == ("failed", _CAUSE)
        assert text.endswith(
            "\n\n(I stopped here: this took longer than I may work on one message. Please ask for "
            "less at once.)"
        )
        assert text.startswith("one ")
        assert await ledger(rig, message_id) == [("capture", -1)]


async def test_without_any_text_the_credit_is_not_taken(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=_LIMIT) as rig:
        message_id = await begin(rig, "[[hang]] hello")
        rig.clock.advance(1)

        assert await end(rig, message_id) == (
            "failed",
            "This took longer than I may work on one message, so I stopped. Please ask for less at "
            "once.",
            _CAUSE,
        )
        assert await ledger(rig, message_id) == []
        assert await rig.answer("hello") == "#2 hello"


async def test_what_tools_found_is_delivered(tmp_path: Path) -> None:
    tool = RunTool("lookup")
    async with open_rig(tmp_path, script=tool_first, tools=(tool,), settings=_LIMIT) as rig:
        message_id = await rig.say("look it up")
        await rig.until(lambda: tool.runs == 1 and len(rig.model.calls) == 2)
        rig.clock.advance(1)
        outcome, text, reason = await end(rig, message_id)

        assert (outcome, reason) == ("answered", _CAUSE)
        assert text.endswith("lookup ran")
        assert await ledger(rig, message_id) == [("capture", -1)]


async def test_the_agent_s_own_limit_counts(tmp_path: Path) -> None:
    settings = {**_LIMIT, "AGENTS__MAIN__TURN_LIMIT_S": "0"}
    async with open_rig(tmp_path, settings=settings) as rig:
        message_id = await begin(rig, "[[slow:0.1]] hello")
        rig.clock.advance(1)

        assert await rig.outcome(message_id) == "answered"


async def test_waiting_for_a_free_model_call_does_not_count(tmp_path: Path) -> None:
    settings = {**_LIMIT, "TURNS__MAX_CONCURRENT_CALLS": "1", "AGENTS__CALM__TURN_LIMIT_S": "0"}
    async with open_rig(tmp_path, settings=settings) as rig:
        calls = len(rig.model.calls)
        await rig.say("[[hang]] hello", chat="holder", agent="calm")
        await rig.until(lambda: len(rig.model.calls) > calls)
        waiting = await rig.say("hello")
        await rig.until(has(lambda: rig.kinds(waiting), "waits_for_place"))
        rig.clock.advance(60)
        await rig.say("/stop", chat="holder", agent="calm")

        assert await rig.outcome(waiting) == "answered"


async def test_a_tool_that_must_not_be_cancelled_ends_first(tmp_path: Path) -> None:
    slow: list[str] = []

    async def act(_context: object) -> str:
        rig.clock.advance(1)
        slow.append("ended")
        return "done"

    tool = RunTool("lookup", act, traits=ToolTraits(cancellable=False))
    async with open_rig(tmp_path, script=tool_first, tools=(tool,), settings=_LIMIT) as rig:
        message_id = await rig.say("look it up")
        outcome, text, _reason = await end(rig, message_id)

        assert slow == ["ended"]
        assert (outcome, text.endswith("done")) == ("answered", True)
