"""W15, W36: hooks in folders on disk hear of turns, sessions and commands, and break none."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from hermes.app.make_hooks import make_hooks
from hermes.control.sessions import SessionOperations, SessionOrder
from hermes.control.why import explain
from hermes.errors import Skipped
from hermes.plugins.hook_book import HookBook
from hermes.plugins.registry import Registry
from hermes.ports.tool import ToolTraits
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from tests.contract.journal.rig import Rig, RunTool, open_rig, settings_of
from tests.unit.plugins.hook_folder import write_hook

DAY = 86_400.0
IDLE = {"SESSIONS__RESET__MODE": "idle", "TIME_ZONE": "UTC"}
EAR = """
    import json, pathlib

    HEARD = pathlib.Path(__file__).with_name("heard")

    async def handle(event_type, context):
        with HEARD.open("a") as file:
            file.write(json.dumps([event_type, context]) + "\\n")
"""
ALL = 'events: ["session:*", "agent:*", "command:*"]'


@asynccontextmanager
async def hooked(home: Path, **more: Any) -> AsyncIterator[tuple[Rig, HookBook]]:
    """Open a core with the hooks of its home; at the end they have heard of everything."""
    book = make_hooks(settings_of(home, more.get("settings", {})), Registry(), home=home)
    assert book is not None
    async with open_rig(home, hooks=book, **more) as rig:
        try:
            yield rig, book
        finally:
            await book.stop()


def heard(home: Path, name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return what a hook wrote down."""
    text = (home / "hooks" / name / "heard").read_text()
    return [tuple(json.loads(line)) for line in text.splitlines()]


def uses_a_tool(seen: SeenConversation, _number: int) -> ScriptedTurn:
    if seen.tool_results:
        return ScriptedTurn(text="It is noon.")
    return ScriptedTurn(tools=(ToolUse("clock", "{}"),))


@pytest.mark.req("W36")
async def test_a_hook_hears_of_a_conversation_from_its_start_to_its_end(tmp_path: Path) -> None:
    write_hook(tmp_path, "ear", said=ALL, code=EAR)
    async with hooked(tmp_path, script=uses_a_tool, tools=(RunTool("clock"),)) as (rig, _):
        first = await rig.say("what time is it?")
        assert await rig.outcome(first) == "answered"
        assert await rig.answer("thanks") == "It is noon."
        await rig.answer("/new")
        assert await rig.answer("and now?") == "It is noon."

    told = heard(tmp_path, "ear")
    turn = ["agent:start", "agent:step", "agent:step", "agent:step", "agent:end"]
    assert [event for event, _ in told] == [
        "session:start",
        *turn,
        *turn,
        "command:new",
        "session:end",
        "session:start",
        *turn,
    ]
    start, model, tool, end = (told[place][1] for place in (1, 2, 3, 5))
    assert start["message_id"] == first
    assert start["session"] == "agent:main:rest:dm:ann"
    assert (start["platform"], start["agent"], start["user_id"]) == ("rest", "main", "ann")
    assert (model["kind"], model["tool_name"], model["state"]) == ("model", None, "done")
    assert (tool["kind"], tool["tool_name"], tool["message_id"]) == ("tool", "clock", first)
    assert (end["outcome"], end["tools"]) == ("answered", ["clock"])
    ended = {"session": start["session"], "platform": "rest", "agent": "main", "reason": "new"}
    assert told[12][1] == ended
    # It did not ask for words.
    assert "what time" not in json.dumps(told)
    assert "noon" not in json.dumps(told)


@pytest.mark.req("W36")
async def test_a_hook_that_asks_for_words_gets_them(tmp_path: Path) -> None:
    said = "events: [agent:end]\ntext: true"
    write_hook(tmp_path, "ear", said=said, code=EAR)
    async with hooked(tmp_path, script=lambda *_: ScriptedTurn(text="Hello Ann.")) as (rig, _):
        await rig.answer("hello")

    ((_, context),) = heard(tmp_path, "ear")
    assert (context["text"], context["reply"]) == ("hello", "Hello Ann.")


@pytest.mark.req("W24", "W36")
@pytest.mark.parametrize("by", ["the watcher", "the next message"])
async def test_the_end_of_a_silent_session_is_told_once(tmp_path: Path, by: str) -> None:
    write_hook(tmp_path, "ear", said="events: ['session:*']", code=EAR)
    async with hooked(tmp_path, settings=IDLE) as (rig, _):
        await rig.answer("one")
        rig.clock.advance(DAY + 1)
        if by == "the watcher":
            await rig.core.sessions.watch.round()
        await rig.answer("two")
        await rig.core.sessions.watch.round()

    told = [(event, context.get("reason")) for event, context in heard(tmp_path, "ear")]
    assert told == [("session:start", None), ("session:end", "idle"), ("session:start", None)]


@pytest.mark.req("W36")
async def test_no_hook_holds_up_or_breaks_a_turn(tmp_path: Path) -> None:
    every = 'events: ["session:*", "agent:*", "command:*", "gateway:dispatch"]\ndecides: true\n'
    quick = f"{every}timeout: 0.05"
    handle = "async def handle(event_type, context):\n"
    write_hook(tmp_path, "fails", said=every, code=f"{handle}    raise RuntimeError('broken')\n")
    write_hook(tmp_path, "leaves", said=every, code=f"import sys\n{handle}    sys.exit(3)\n")
    write_hook(tmp_path, "odd", said=every, code=f"{handle}    return {{'skip': 1, 'text': []}}\n")
    blocks = f"import pathlib, time\n{handle}    while not STOP.exists(): time.sleep(0.01)\n"
    blocks += "STOP = pathlib.Path(__file__).with_name('stop')\n"
    write_hook(tmp_path, "blocks", said=quick, code=blocks)
    sleeps = f"import asyncio\n{handle}    await asyncio.sleep(3600)\n"
    write_hook(tmp_path, "sleeps", said=quick, code=sleeps)

    async with hooked(tmp_path, settings={"HOOKS__FAILURES": "2"}) as (rig, book):
        for number in range(4):
            assert await rig.outcome(await rig.say(f"hello {number}")) == "answered"
            assert await rig.outcome(await rig.say("/status")) == "answered"
        states = {one.name: one.state for one in book.report()}
        (tmp_path / "hooks" / "blocks" / "stop").touch()

    assert states == dict.fromkeys(("blocks", "fails", "leaves", "odd", "sleeps"), "off")
    errors = {one.name: one.last_error for one in book.report()}
    assert errors["fails"] == "RuntimeError: broken"
    assert errors["leaves"] == "SystemExit: 3"
    assert errors["sleeps"] == "it took longer than 0.05 s"


SKIPS = """
    async def handle(event_type, context):
        if "lottery" in context["text"]:
            return {"skip": f"spam from {context['user_id']}"}
        if context["text"] == "sssh":
            return {"skip": True}
"""
DECIDES = "events: [gateway:dispatch]\ndecides: true\ntext: true"


@pytest.mark.req("W15")
async def test_a_skipped_message_is_kept_by_nobody_and_why_knows_it(tmp_path: Path) -> None:
    write_hook(tmp_path, "spam", said=DECIDES, code=SKIPS)
    async with hooked(tmp_path) as (rig, _):
        with pytest.raises(Skipped) as skipped:
            await rig.say("you won the lottery", name="x1")
        with pytest.raises(Skipped, match=r"^the hook spam skipped this message$"):
            await rig.say("sssh", name="x2")
        assert await rig.outcome(await rig.say("hello", name="x3")) == "answered"

        # A channel that notes refusals itself gets the one that is noted already.
        refusal = await rig.core.inbox.refuse("rest", skipped.value, external_id="x1")
        assert refusal is not None
        report = await explain(rig.store, refusal, now=rig.clock.now(), include_text=False)
        by_name = await explain(rig.store, "x1", now=rig.clock.now(), include_text=False)

    assert skipped.value.refusal == refusal
    assert str(skipped.value) == "the hook spam skipped this message: spam from ann"
    assert (report.kind, report.platform, by_name.id) == ("refusal", "rest", refusal)
    assert "(skipped): the hook spam skipped this message: spam from ann" in report.answer
    assert len(rig.model.calls) == 1


REWRITES = """
    import itertools

    NUMBER = itertools.count(1)

    async def handle(event_type, context):
        if context["text"] == "fresh":
            return {"text": "/new"}
        return {"text": f"{context['text']} ({next(NUMBER)})"}
"""
AFTER = """
    async def handle(event_type, context):
        return {"text": context["text"].upper()} if context["text"].startswith("hi") else None
"""


@pytest.mark.req("W15")
async def test_a_rewritten_message_goes_on_as_if_it_had_been_sent_so(tmp_path: Path) -> None:
    write_hook(tmp_path, "a", said=DECIDES, code=REWRITES)
    write_hook(tmp_path, "b", said=DECIDES, code=AFTER)
    async with hooked(tmp_path) as (rig, _):
        first = await rig.say("hi", name="x1")
        await rig.outcome(first)
        # Sent again it is the same message, though the hook would say it in other words.
        again = await rig.say("hi", name="x1")
        shown = [message.text for message in rig.model.calls[-1].request.messages]
        afresh = await rig.answer("fresh")

    assert again == first
    assert shown == ["HI (1)"]
    assert afresh == "Started a new conversation."


@pytest.mark.req("W36")
async def test_a_hook_may_refuse_a_command_beside_the_lane_or_in_it(tmp_path: Path) -> None:
    said = 'events: ["command:*"]\ndecides: true'
    code = """
        async def handle(event_type, context):
            if event_type in ("command:new", "command:model"):
                return {"refuse": f"/{context['command']} is closed for {context['user_id']}."}
    """
    write_hook(tmp_path, "policy", said=said, code=code)
    async with hooked(tmp_path) as (rig, _):
        new, reset, model = [await rig.say(text) for text in ("/new", "/reset", "/model auto")]
        outcomes = [await rig.outcome(one) for one in (new, reset, model)]
        told = [await rig.store.inbox.result(one) for one in (new, reset, model)]
        status = await rig.outcome(await rig.say("/status"))

    assert (outcomes, status) == (["refused"] * 3, "answered")
    texts = ["/new is closed for ann."] * 2 + ["/model is closed for ann."]
    assert [one.text for one in told if one] == texts
    assert told[0] is not None
    assert told[0].reason == "the hook policy refuses /new"


@pytest.mark.req("W36")
async def test_where_there_are_no_hooks_there_is_nothing_to_call(tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()

    assert make_hooks(settings_of(tmp_path, {}), Registry(), home=tmp_path) is None


@pytest.mark.req("W36")
async def test_a_turn_that_goes_on_after_a_crash_is_no_second_session(tmp_path: Path) -> None:
    write_hook(tmp_path, "ear", said='events: ["session:*", "agent:*"]', code=EAR)
    tool = RunTool("clock", traits=ToolTraits(idempotent=True))
    hangs = RunTool("clock", lambda _context: asyncio.Event().wait(), traits=tool.traits)
    async with hooked(tmp_path, script=uses_a_tool, tools=(hangs,)) as (rig, _):
        message = await rig.say("what time is it?")
        await rig.until(lambda: hangs.runs == 1)
    async with hooked(tmp_path, script=uses_a_tool, tools=(tool,)) as (rig, _):
        assert await rig.outcome(message) == "answered"

    told = [(event, context.get("is_again")) for event, context in heard(tmp_path, "ear")]
    step = ("agent:step", None)
    first = [("session:start", None), ("agent:start", False), step]
    assert told == [*first, ("agent:start", True), step, step, ("agent:end", None)]


@pytest.mark.req("W36")
async def test_a_command_in_the_lane_is_no_work_of_an_agent(tmp_path: Path) -> None:
    write_hook(tmp_path, "ear", said=ALL, code=EAR)
    async with hooked(tmp_path) as (rig, _):
        await rig.answer("/model auto")

    assert [event for event, _ in heard(tmp_path, "ear")] == ["command:model", "agent:end"]


@pytest.mark.req("W36")
async def test_a_package_brings_a_hook_where_that_is_switched_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    (site / "town_crier-1.dist-info").mkdir(parents=True)
    (site / "town_crier-1.dist-info" / "METADATA").write_text("Name: town-crier\nVersion: 1\n")
    points = "[hermes.hooks]\ncrier = town_crier:hook\n"
    (site / "town_crier-1.dist-info" / "entry_points.txt").write_text(points)
    code = """
        from hermes.ports.hooks import Hook
        heard = []

        async def handle(event_type, context):
            heard.append(event_type)

        hook = Hook(name="crier", events=("agent:end",), handle=handle)
    """
    (site / "town_crier.py").write_text(dedent(code))
    monkeypatch.syspath_prepend(str(site))

    on = {"HOOKS__ENTRY_POINTS": "true"}
    async with hooked(tmp_path, settings=on) as (rig, book):
        await rig.answer("hello")

    assert make_hooks(settings_of(tmp_path, {}), Registry(), home=tmp_path) is None
    assert [(one.name, one.runs) for one in book.report()] == [("crier", 1)]


@pytest.mark.req("W36")
async def test_the_end_of_a_session_by_an_operator_is_told(tmp_path: Path) -> None:
    write_hook(tmp_path, "ear", said="events: [session:end]", code=EAR)
    async with hooked(tmp_path) as (rig, _):
        await rig.answer("hello")
        desk = SessionOperations(rig.store, clock=rig.clock, ended=rig.core.sessions.ended)
        await desk.end(SessionOrder(session=rig.lane()))

    told = {"session": rig.lane(), "platform": "rest", "agent": "main", "reason": "ended"}
    assert heard(tmp_path, "ear") == [("session:end", told)]


@pytest.mark.req("W36")
async def test_the_end_of_an_erased_persons_turn_is_told_without_a_word_of_them(
    tmp_path: Path,
) -> None:
    write_hook(tmp_path, "ear", said="events: [agent:start, agent:end]\ntext: true", code=EAR)
    free = asyncio.Event()
    tool = RunTool("clock", lambda _context: free.wait())
    async with hooked(tmp_path, script=uses_a_tool, tools=(tool,)) as (rig, _):
        message = await rig.say("what time is it?")
        await rig.until(lambda: tool.runs == 1)
        record = await rig.store.inbox.get(message)
        assert record is not None
        await rig.store.people.erase(record.person_id, at=rig.clock.now())
        free.set()
        assert await rig.outcome(message) == "refused"

    start, end = heard(tmp_path, "ear")
    assert (start[0], start[1]["text"]) == ("agent:start", "what time is it?")
    told = {"message_id": message, "session": rig.lane(), "platform": "rest", "agent": "main"}
    assert end == ("agent:end", {**told, "outcome": "refused"})


@pytest.mark.req("W15")
async def test_a_hook_that_says_no_skip_lets_the_message_pass(tmp_path: Path) -> None:
    code = "async def handle(event_type, context):\n    return {'skip': False}\n"
    write_hook(tmp_path, "own", said=DECIDES, code=code)
    async with hooked(tmp_path) as (rig, book):
        assert await rig.outcome(await rig.say("hello")) == "answered"

    assert [(one.runs, one.failures) for one in book.report()] == [(1, 0)]
