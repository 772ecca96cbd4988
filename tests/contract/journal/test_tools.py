"""Tools in a turn: side by side, over a crash, too long, gated; J8, A9, A17 and J12."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes import failpoints
from hermes.control.why import explain
from hermes.message.parts import ToolResultPart
from hermes.ports.steps import Step
from hermes.ports.tool import ToolContext, ToolTraits
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from hermes.tools import tool
from tests.contract.journal.rig import Rig, RunTool, has, open_rig
from tests.stores.opening import full_disk, raw_bytes, tables

ROOT = Path(__file__).resolve().parents[3]
BESIDE = ToolTraits(parallel=True)
SAFE = ToolTraits(parallel=True, idempotent=True)
EACH = {"TOOLS__GATE__MODE": "always"}
STOPPABLE = ToolTraits(parallel=True, cancellable=True)
THREE = "[[tool:a]] [[tool:b]] [[tool:c]] all of them"


def results(rig: Rig) -> list[str]:
    """Return the results as the model's last call was shown them."""
    return [
        part.text
        for message in rig.model.calls[-1].request.messages
        for part in message.parts
        if isinstance(part, ToolResultPart)
    ]


async def tool_steps(rig: Rig, message_id: str) -> list[Step]:
    return [step for step in (await rig.timeline(message_id)).steps if step.kind == "tool"]


async def states(rig: Rig, message_id: str) -> list[tuple[str, str]]:
    return [(step.name, step.state) for step in await tool_steps(rig, message_id)]


class Meeting:
    """Tools that all wait until all are there, and then leave in the order that a test wants."""

    def __init__(self, order: str) -> None:
        self._order = order
        self._here: set[str] = set()
        self._gone: list[str] = []
        self._moved = asyncio.Condition()

    async def attend(self, name: str) -> str:
        async with self._moved:
            self._here.add(name)
            self._moved.notify_all()
            await self._moved.wait_for(
                lambda: self._here == set(self._order) and self._order[len(self._gone)] == name
            )
            self._gone.append(name)
            self._moved.notify_all()
        return f"{name} was number {len(self._gone)}"

    def tool(self, name: str, traits: ToolTraits = BESIDE) -> RunTool:
        return RunTool(name, lambda _: self.attend(name), traits=traits)


@pytest.mark.req("J8", "A9")
async def test_parallel_tools_run_side_by_side_and_their_results_keep_the_order_of_the_calls(
    tmp_path: Path,
) -> None:
    meeting = Meeting("cab")
    tools = tuple(map(meeting.tool, "abc"))
    async with open_rig(tmp_path, tools=tools) as rig:
        message_id = await rig.say(THREE)

        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == ["a was number 2", "b was number 3", "c was number 1"]
        assert await states(rig, message_id) == [("a", "done"), ("b", "done"), ("c", "done")]
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert [use.name for use in result.tool_calls] == ["a", "b", "c"]


@pytest.mark.req("J8")
async def test_j8_each_of_them_has_its_own_step_before_any_of_them_starts(tmp_path: Path) -> None:
    seen: list[list[tuple[str, str, str]]] = []
    rigs: list[Rig] = []

    async def look(context: ToolContext) -> str:
        steps = (await rigs[0].timeline(context.turn_id)).steps
        seen.append(
            [
                (step.name, step.state, "" if step.facts is None else step.facts.call_id)
                for step in steps
                if step.kind == "tool"
            ]
        )
        return "looked"

    tools = tuple(RunTool(name, look, traits=BESIDE) for name in "abc")
    async with open_rig(tmp_path, tools=tools) as rig:
        rigs.append(rig)
        await rig.answer(THREE)

        calls = [part.id for part in rig.model.calls[-1].request.messages[-4].parts]  # type: ignore[union-attr]
        started = [(name, "started", call) for name, call in zip("abc", calls, strict=True)]
        assert seen[0] == started
        assert len(set(calls)) == 3


def recording(order: list[str]) -> Callable[[str, ToolTraits], RunTool]:
    """Return a maker of tools that note when they begin and when they end."""

    def make(name: str, traits: ToolTraits) -> RunTool:
        async def act() -> str:
            order.append(f"{name} begins")
            for _ in range(5):
                await asyncio.sleep(0)
            order.append(f"{name} ends")
            return name

        return RunTool(name, lambda _: act(), traits=traits)

    return make


@pytest.mark.req("J8", "A9")
async def test_a_tool_that_does_not_say_parallel_runs_alone(tmp_path: Path) -> None:
    order: list[str] = []
    make = recording(order)
    tools = (make("a", BESIDE), make("b", BESIDE), make("c", ToolTraits()), make("d", BESIDE))
    async with open_rig(tmp_path, tools=tools) as rig:
        await rig.answer("[[tool:a]] [[tool:b]] [[tool:c]] [[tool:d]] please")

    together, alone, last = order[:4], order[4:6], order[6:]
    assert sorted(together[:2]) == ["a begins", "b begins"]
    assert (alone, last) == (["c begins", "c ends"], ["d begins", "d ends"])


@pytest.mark.req("J9")
async def test_a_tool_that_needs_approval_never_runs_beside_others(tmp_path: Path) -> None:
    order: list[str] = []
    make = recording(order)
    asking = make("pay", ToolTraits(parallel=True, needs_approval=True))
    async with open_rig(tmp_path, tools=(make("a", BESIDE), make("b", BESIDE), asking)) as rig:
        message_id = await rig.say("[[tool:a]] [[tool:b]] [[tool:pay]] [[tool:a]] please")
        assert await rig.outcome(message_id) == "parked"
        assert len(order) == 4

        await rig.answer("/approve")
        assert await rig.outcome(message_id) == "answered"
        assert order[4:] == ["pay begins", "pay ends", "a begins", "a ends"]
        assert results(rig) == ["a", "b", "pay", "a"]


@pytest.mark.req("A9")
async def test_no_more_run_at_the_same_time_than_the_setting_says(tmp_path: Path) -> None:
    order: list[str] = []
    make = recording(order)
    tools = tuple(make(name, BESIDE) for name in "abc")
    async with open_rig(tmp_path, tools=tools, settings={"TOOLS__PARALLEL_CALLS": "2"}) as rig:
        await rig.answer(THREE)

    assert order[4:] == ["c begins", "c ends"]


@pytest.mark.req("J8")
async def test_j8_what_ended_beside_a_running_tool_is_on_disk_at_once(tmp_path: Path) -> None:
    clock = ManualClock()
    quick = RunTool("a", traits=BESIDE)
    lost = RunTool("b", lambda _: asyncio.Event().wait(), traits=BESIDE)
    safe = RunTool("c", lambda _: asyncio.Event().wait(), traits=SAFE)
    async with open_rig(tmp_path, clock=clock, tools=(quick, lost, safe)) as rig:
        message_id = await rig.say(THREE)
        await rig.until(has(lambda: states(rig, message_id), ("a", "done")))
        assert await states(rig, message_id) == [("a", "done"), ("b", "started"), ("c", "started")]

    after = RunTool("a", traits=BESIDE), RunTool("b", traits=BESIDE), RunTool("c", traits=SAFE)
    async with open_rig(tmp_path, clock=clock, tools=after) as rig:
        assert await rig.outcome(message_id) == "answered"

        assert [one.runs for one in after] == [0, 0, 1]
        first, second, third = results(rig)
        assert (first, third) == ("a ran", "c ran")
        assert "outcome unknown" in second
        assert await states(rig, message_id) == [
            ("a", "done"),
            ("b", "unknown"),
            ("c", "lost"),
            ("c", "done"),
        ]
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert [use.name for use in result.tool_calls] == ["a", "b", "c"]


@pytest.mark.req("J8")
async def test_j8_a_lost_call_in_the_middle_is_run_again_and_keeps_its_place(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    waiting = RunTool("b", lambda _: asyncio.Event().wait(), traits=SAFE)
    tools = (RunTool("a", traits=SAFE), waiting, RunTool("c", traits=SAFE))
    async with open_rig(tmp_path, clock=clock, tools=tools) as rig:
        message_id = await rig.say(THREE)
        await rig.until(has(lambda: states(rig, message_id), ("c", "done")))

    after = tuple(RunTool(name, traits=SAFE) for name in "abc")
    async with open_rig(tmp_path, clock=clock, tools=after) as rig:
        assert await rig.outcome(message_id) == "answered"
        assert [one.runs for one in after] == [0, 1, 0]
        assert results(rig) == ["a ran", "b ran", "c ran"]


@pytest.mark.req("J8")
def test_j8_kill_at_every_point_of_a_turn_with_parallel_tools(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.journal.tool_kills", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )

    assert done.returncode == 0, done.stderr[-4_000:]
    told = re.search(r"(\d+) kills, (\d+) lost", done.stdout)
    assert told is not None
    assert int(told[1]) >= 20
    assert int(told[2]) >= 4


@pytest.mark.req("J8")
async def test_results_that_a_full_disk_refused_are_written_with_the_next(tmp_path: Path) -> None:
    refused: list[str] = []
    release = asyncio.Event()

    def refuse_once(name: str) -> None:
        if quick.runs and not refused:
            refused.append(name)
            release.set()
            raise full_disk()

    quick = RunTool("a", traits=BESIDE)
    slow = RunTool("b", lambda _: release.wait(), traits=BESIDE)
    async with open_rig(tmp_path, tools=(quick, slow)) as rig:
        failpoints.arm("store.step.before", refuse_once)
        try:
            message_id = await rig.say("[[tool:a]] [[tool:b]] please")
            assert await rig.outcome(message_id) == "answered"
        finally:
            failpoints.disarm()

        assert refused == ["store.step.before"]
        assert (quick.runs, slow.runs) == (1, 1)
        assert await states(rig, message_id) == [("a", "done"), ("b", "done")]


@pytest.mark.req("J12")
async def test_j12_stopping_cancels_those_that_can_be_and_keeps_what_the_others_found(
    tmp_path: Path,
) -> None:
    release = asyncio.Event()
    stoppable = RunTool("a", lambda _: asyncio.Event().wait(), traits=STOPPABLE)
    patient = RunTool("b", lambda _: release.wait(), traits=BESIDE)
    async with open_rig(tmp_path, tools=(stoppable, patient)) as rig:
        message_id = await rig.say("[[tool:a]] [[tool:b]] please")
        await rig.until(lambda: stoppable.runs + patient.runs == 2)
        await rig.answer("/stop")
        await rig.until(has(lambda: states(rig, message_id), ("a", "failed")))
        assert ("b", "started") in await states(rig, message_id)

        release.set()

        assert await rig.outcome(message_id) == "interrupted"
        assert await states(rig, message_id) == [("a", "failed"), ("b", "done")]
        assert len(rig.model.calls) == 1
        await rig.answer("what became of it")
        first, second = results(rig)
        assert "was stopped before it ended" in first
        assert second == "True"


@pytest.mark.req("J14", "J8")
async def test_j14_subagents_of_parallel_tools_are_told_apart_and_found_again(
    tmp_path: Path,
) -> None:
    clock = ManualClock()

    def delegate(name: str, task: str) -> RunTool:
        return RunTool(name, lambda context: context.run_child(task, ""), traits=SAFE)

    tools = (delegate("a", "[[hang]] one"), delegate("b", "[[hang]] two"))
    async with open_rig(tmp_path, clock=clock, tools=tools) as rig:
        host = await rig.say("[[tool:a]] [[tool:b]] please")
        await rig.until(lambda: len(rig.model.calls) == 3)

    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if seen.tool_results:
            return ScriptedTurn(text="done")
        return ScriptedTurn(text=f"child {seen.last_text[-3:]}")

    async with open_rig(tmp_path, clock=clock, script=script, tools=tools) as rig:
        assert await rig.outcome(host) == "answered"

        assert results(rig) == ["child one", "child two"]
        sessions = await rig.store.transcripts.sessions(platform=None, limit=10)
        children = sorted(
            str(one["lane"]) for one in sessions if "/" in str(one["lane"]).replace("%2F", "")
        )
        assert children == [f"{rig.lane()}/{host}.1", f"{rig.lane()}/{host}.2"]


@pytest.mark.req("J24", "W1")
async def test_a_long_result_is_cut_for_the_model_and_kept_whole(tmp_path: Path) -> None:
    whole = f"begin {'ü' * 50_000} MIDDLE {'y' * 50_000} end"
    async with open_rig(tmp_path, tools=(RunTool("read", lambda _: whole),)) as rig:
        message_id = await rig.say("[[tool:read]] it")
        await rig.outcome(message_id)

        (shown,) = results(rig)
        assert len(shown) <= 30_000
        assert shown.startswith("begin ü")
        assert shown.endswith("y end")
        missing = re.search(r"\[(\d+) of (\d+) characters are left out here", shown)
        assert missing is not None
        assert int(missing[2]) == len(whole)
        note = shown[shown.index("\n\n[") : shown.index("]\n\n") + 3]
        assert int(missing[1]) == len(whole) - (len(shown) - len(note))
        assert f"hermes why {message_id} --text" in note

        report = await explain(rig.store, message_id, now=rig.clock.now(), include_text=True)
        assert report.text is not None
        assert [(one.tool, one.text) for one in report.text.results] == [("read", whole)]
        (line,) = [one for one in report.lines if one.what == "tool read"]
        assert line.data["chars"] == len(whole)
        assert line.data["whole"] == f"hermes why {message_id} --text"
        bare = await explain(rig.store, message_id, now=rig.clock.now())
        assert bare.text is None
    assert b"MIDDLE" not in raw_bytes(tmp_path)


@pytest.mark.req("J8", "J24")
async def test_a_whole_result_outlives_a_crash_and_goes_with_the_message(tmp_path: Path) -> None:
    clock = ManualClock()
    slow = RunTool("wait", lambda _: asyncio.Event().wait(), traits=ToolTraits(idempotent=True))
    reader = RunTool("read", lambda _: "z" * 40_000)
    async with open_rig(tmp_path, clock=clock, tools=(reader, slow)) as rig:
        message_id = await rig.say("[[tool:read]] [[tool:wait]] it")
        await rig.until(lambda: slow.runs == 1)

    after = RunTool("read"), RunTool("wait", traits=ToolTraits(idempotent=True))
    async with open_rig(tmp_path, clock=clock, tools=after) as rig:
        assert await rig.outcome(message_id) == "answered"
        assert after[0].runs == 0
        assert [len(text) for text in results(rig)] == [30_000, len("wait ran")]
        outputs = [step for step in (await rig.timeline(message_id)).steps if step.kind == "output"]
        assert [len(step.body or b"") for step in outputs] == [40_002]

        clock.advance(60)
        assert await rig.store.purge(clock.now(), limit=10) == 1
        assert await rig.store.timeline(message_id) is None
        with tables(tmp_path) as left:
            assert left.rows("SELECT * FROM steps WHERE message_id = ?1", (message_id,)) == []


@pytest.mark.req("A17", "W1")
async def test_the_timeline_tells_what_the_gate_did(tmp_path: Path) -> None:
    @tool(intents=("weather",))
    def forecast(city: str) -> str:
        """Tell the weather."""
        return city

    @tool(intents=("reminders",))
    def remind(text: str) -> str:
        """Remind somebody."""
        return text

    async with open_rig(tmp_path, tools=(forecast, remind), settings=EACH) as rig:
        trivial, asked, open_ = [
            await rig.say(text) for text in ("hello", "will it rain", "tell me more about that")
        ]
        for message_id in (trivial, asked, open_):
            assert await rig.outcome(message_id) == "answered"

        sent = [[spec.name for spec in call.request.tools] for call in rig.model.calls]
        assert sent == [[], ["forecast"], ["forecast"]]
        first, second = [
            (await explain(rig.store, name, now=rig.clock.now())).tools for name in (trivial, asked)
        ]
        assert first is not None
        assert (first.rule, first.sent, first.left_out) == (
            "a trivial message",
            (),
            ("forecast", "remind"),
        )
        assert second is not None
        assert (second.sent, second.left_out) == (("forecast",), ("remind",))
        assert first.saved_tokens > second.saved_tokens > 0


@pytest.mark.req("A17")
async def test_a_tool_that_was_not_sent_is_not_run(tmp_path: Path) -> None:
    weather = RunTool("forecast", traits=ToolTraits(intents=("weather",)))
    other = RunTool("remind", traits=ToolTraits(intents=("reminders",)))

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        return ScriptedTurn(tools=(ToolUse("remind"),)) if number == 1 else ScriptedTurn(text="ok")

    async with open_rig(tmp_path, script=script, tools=(weather, other), settings=EACH) as rig:
        await rig.answer("will it rain")

        assert other.runs == 0
        assert results(rig) == ["there is no tool 'remind' here; use one of the listed tools"]


@pytest.mark.req("A17", "J7")
async def test_a_resumed_turn_keeps_the_tools_that_it_had(tmp_path: Path) -> None:
    clock = ManualClock()
    tools = (
        RunTool("forecast", traits=ToolTraits(intents=("weather",))),
        RunTool("remind", traits=ToolTraits(intents=("reminders",))),
    )
    async with open_rig(tmp_path, clock=clock, tools=tools, settings=EACH) as rig:
        message_id = await rig.say("will it rain [[hang]]")
        await rig.until(lambda: len(rig.model.calls) == 1)

    off = {"TOOLS__GATE__MODE": "off"}
    async with open_rig(tmp_path, clock=clock, tools=tools, script=_done, settings=off) as rig:
        await rig.outcome(message_id)
        assert [spec.name for spec in rig.model.calls[0].request.tools] == ["forecast"]


@pytest.mark.req("A9")
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ('{"people":"a few"}', 'found the text "a few". Example: {"people":1}'),
        ('{"people": ', "the arguments of book are not JSON"),
    ],
    ids=["do not fit", "break off"],
)
async def test_arguments_that_do_not_fit_are_told_to_the_model_which_tries_again(
    tmp_path: Path, wrong: str, told: str
) -> None:
    runs: list[int] = []

    @tool
    def book(people: int) -> str:
        """Book a table."""
        runs.append(people)
        return f"booked for {people}"

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if number <= 2:
            return ScriptedTurn(tools=(ToolUse("book", wrong if number == 1 else '{"people":3}'),))
        return ScriptedTurn(text="done")

    async with open_rig(tmp_path, script=script, tools=(book,)) as rig:
        message_id = await rig.say("book a table")
        assert await rig.outcome(message_id) == "answered"

        assert runs == [3]
        first, second = results(rig)
        assert told in first
        assert second == "booked for 3"
        assert await states(rig, message_id) == [("book", "failed"), ("book", "done")]


@pytest.mark.req("A9")
@pytest.mark.parametrize(("idempotent", "told"), [(True, "may be called again"), (False, "look")])
async def test_a_tool_that_takes_too_long_is_given_up(
    tmp_path: Path, idempotent: bool, told: str
) -> None:
    traits = ToolTraits(idempotent=idempotent, timeout_s=0.01)
    stuck = RunTool("read", lambda _: asyncio.Event().wait(), traits=traits)
    async with open_rig(tmp_path, tools=(stuck,)) as rig:
        await rig.answer("[[tool:read]] it")

        (text,) = results(rig)
        assert "gave no result within 0.01 s and was abandoned" in text
        assert told in text


def _done(_seen: SeenConversation, _number: int) -> ScriptedTurn:
    return ScriptedTurn(text="done")
