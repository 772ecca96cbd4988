"""J5, J22, G1 to G3, W18: `/undo`, `/retry` and `/branch` go back in a conversation and lose nothing."""

import asyncio
import os
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.graph import MessageGraph
from hermes.graph.exports import Report, export_rows, verify_row
from hermes.graph.sketch import draw
from hermes.graph.text_drawing import rows
from hermes.message.session_key import graph_name
from hermes.ports.search import SearchAsk, Searcher
from hermes.ports.tool import ToolTraits
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from tests.contract.journal.rewind_kills import EDIT
from tests.contract.journal.rig import Rig, RunTool, open_rig


def counted(seen: SeenConversation, number: int) -> ScriptedTurn:
    """Answer every call with words of its own."""
    if "[[tool" in seen.last_text and not seen.tool_results:
        return ScriptedTurn(tools=(ToolUse("look"),))
    return ScriptedTurn(text=f"answer {number}")


async def texts(rig: Rig, chat: str = "ann") -> list[str]:
    view = await rig.store.turns.view(rig.lane(chat))
    said = await rig.store.transcripts.history(rig.lane(chat), epoch=view.epoch, head=view.head)
    return [message.text for message in said.messages]


def graph_of(rig: Rig, branch: str = "main") -> MessageGraph:
    return rig.store.graphs.open(graph_name(rig.lane(), 0), branch=branch)


def assert_whole(rig: Rig, branch: str = "main") -> None:
    graph = graph_of(rig, branch)
    assert graph.verify().problems == ()
    assert list(rig.store.graphs.check(graph_name(rig.lane(), 0))) == []


def kinds(rig: Rig) -> list[str]:
    return [version.kind for version in graph_of(rig).versions()]


@pytest.mark.req("J5", "G1", "G7", "W18")
async def test_undo_takes_the_last_exchanges_out_and_keeps_them_as_a_version(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, script=counted, tools=(RunTool("look"),)) as rig:
        await rig.answer("one")
        await rig.answer("two [[tool:look]]")
        await rig.answer("three")

        told = await rig.answer("/undo 2")

        assert "- three" in told
        assert "- two [[tool:look]]" in told
        assert "- one" not in told
        assert await texts(rig) == ["one", "answer 1"]
        graph = graph_of(rig)
        assert kinds(rig) == ["start", "append", "append", "delete"]
        assert [m["parts"][0].get("text") for m in graph.at(2)][-1] == "answer 4"
        assert graph.versions()[-1].edit.parallel
        assert_whole(rig)
        # The model sees no more of it, and what it sees is recorded as it was.
        await rig.answer("four")
        assert [m.text for m in rig.model.calls[-1].request.messages] == ["one", "answer 1", "four"]
        assert_whole(rig)
        assert graph_of(rig).at(graph_of(rig).calls()[-1]).to_list()[-3:] == graph_of(rig)[:3]


@pytest.mark.req("J5", "W18")
async def test_undo_says_when_there_is_nothing_and_takes_all_there_is(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=counted) as rig:
        assert "nothing to take back" in await rig.answer("/undo")
        await rig.answer("one")
        assert "number" in await rig.answer("/undo many")
        assert await texts(rig) == ["one", "answer 1"]

        await rig.answer("/undo 9")

        assert await texts(rig) == []
        assert "nothing to take back" in await rig.answer("/undo")
        await rig.answer("again")
        assert await texts(rig) == ["again", "answer 2"]
        assert_whole(rig)


@pytest.mark.req("J5")
async def test_undo_waits_for_the_turn_that_runs(tmp_path: Path) -> None:
    gate = asyncio.Event()
    slow = RunTool("look", lambda _: gate.wait())
    async with open_rig(tmp_path, script=counted, tools=(slow,)) as rig:
        await rig.answer("one")
        running = await rig.say("two [[tool:look]]")
        await rig.until(lambda: slow.runs == 1)
        undone = await rig.say("/undo")
        # A command beside the lane passes: whatever /undo was to do, it waits.
        await rig.answer("/status")
        assert await rig.store.inbox.state(undone) == "new"
        gate.set()

        assert await rig.outcome(running) == "answered"
        assert await rig.outcome(undone) == "answered"
        assert await texts(rig) == ["one", "answer 1"]


@pytest.mark.req("J5", "J22", "J10", "G3")
async def test_retry_answers_again_in_one_commit_and_is_charged(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=counted) as rig:
        await rig.answer("one")
        first = await rig.say("two")
        await rig.outcome(first)
        asked = rig.model.calls[-1].request

        again = await rig.say("/retry")
        assert await rig.outcome(again) == "answered"

        result = await rig.store.inbox.result(again)
        assert result is not None
        assert result.text == "answer 3"
        assert rig.model.calls[-1].request.messages == asked.messages
        assert await texts(rig) == ["one", "answer 1", "two", "answer 3"]
        graph = graph_of(rig)
        last = graph.versions()[-1].edit
        # The message stayed: only its answer is another one.
        assert (last.kind, last.start, last.removed, last.added) == ("retry", 3, 1, 1)
        (edge,) = graph.edges()
        assert (edge.index, edge.version) == (3, 2)
        assert [line["kind"] for line in (await rig.timeline(again)).ledger] == ["capture"]
        assert graph.is_sampled(3)
        assert_whole(rig)


@pytest.mark.req("J22")
async def test_retry_passes_the_response_cache(tmp_path: Path) -> None:
    agent = {"AGENTS__MAIN__CACHE": "true"}
    async with open_rig(tmp_path, script=counted, settings=agent) as rig:
        await rig.answer("what is the time")
        await rig.answer("/new")
        assert await rig.answer("what is the time") == "answer 1"

        assert await rig.answer("/retry") == "answer 2"

        assert len(rig.model.calls) == 2
        graph = rig.store.graphs.open(graph_name(rig.lane(), 1))
        assert [call.sampled for call in graph.calls()] == [False, True]


@pytest.mark.req("J22", "G6")
async def test_a_retried_answer_is_a_preference_pair_until_it_is_taken_back(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=counted, tools=(RunTool("look"),)) as rig:
        await rig.answer("one")
        await rig.answer("/retry")
        await rig.answer("two [[tool:look]]")
        await rig.answer("/retry")

        (pair,) = pairs(rig)

        assert [m["content"] for m in pair["chosen"]] == ["answer 2"]
        assert [m["content"] for m in pair["rejected"]] == ["answer 1"]
        assert verify_row(pair) is None
        await rig.answer("/undo 2")
        assert pairs(rig) == []


def pairs(rig: Rig) -> list[dict]:
    rows = export_rows(
        [graph_of(rig)],
        "trl-preference",
        may_train=lambda _: True,
        salt=os.urandom(16),
        report=Report(),
    )
    return list(rows)


@pytest.mark.req("J5", "J10", "J12")
async def test_a_retry_without_another_answer_leaves_the_old_one(tmp_path: Path) -> None:
    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if number == 2:
            return ScriptedTurn(fault="status", status=503)
        if number == 3:
            return ScriptedTurn(text="half an answer", deltas=9, fault="hang", after=4)
        return counted(seen, number)

    async with open_rig(tmp_path, script=script) as rig:
        await rig.answer("one")
        failed = await rig.say("/retry")
        assert await rig.outcome(failed) == "failed"
        assert await texts(rig) == ["one", "answer 1"]
        assert (await rig.timeline(failed)).ledger == ()

        # What was shown before it was stopped stands, and is nobody's sample.
        stopped = await rig.say("/retry")
        await rig.until(lambda: rig.watch.text(stopped) != "")
        await rig.answer("/stop")
        assert await rig.outcome(stopped) == "interrupted"
        said, partial = await texts(rig)
        assert said == "one"
        assert "half an answer".startswith(partial)
        assert not graph_of(rig).is_sampled(1)
        assert await rig.answer("/retry") == "answer 4"
        assert await texts(rig) == ["one", "answer 4"]
        assert_whole(rig)


@pytest.mark.req("J5", "J7", "J8")
async def test_a_retry_that_is_cut_off_leaves_the_answer_and_goes_on(tmp_path: Path) -> None:
    never = asyncio.Event()
    slow = RunTool("look", lambda _: never.wait(), traits=ToolTraits(idempotent=True))
    quick = RunTool("look", traits=ToolTraits(idempotent=True))

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if number >= 2 and not seen.tool_results:
            return ScriptedTurn(tools=(ToolUse("look"),))
        return ScriptedTurn(text=f"answer {number}")

    async with open_rig(tmp_path, script=script, tools=(slow,)) as rig:
        await rig.answer("one")
        again = await rig.say("/retry")
        await rig.until(lambda: slow.runs == 1)
        assert await texts(rig) == ["one", "answer 1"]
        await rig.crash()

    async with open_rig(tmp_path, script=script, tools=(quick,), clock=rig.clock) as rig:
        assert await rig.outcome(again) == "answered"
        assert await texts(rig) == ["one", "", "", "answer 1"]
        assert rig.model.calls[-1].request.messages[0].text == "one"
        assert kinds(rig) == ["start", "retry"]
        assert_whole(rig)


@pytest.mark.req("J5", "G1", "W18")
async def test_a_branch_is_a_state_that_can_be_gone_back_to(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=counted) as rig:
        assert "Nothing has been said" in await rig.answer("/branch fork")
        await rig.answer("one")
        assert "Kept as fork" in await rig.answer("/branch fork")
        assert "already" in await rig.answer("/branch fork")
        assert "cannot be called" in await rig.answer("/branch No Way")
        await rig.answer("two")
        there = await texts(rig)

        told = await rig.answer("/branch to fork")

        assert "kept as state-1" in told
        assert await texts(rig) == ["one", "answer 1"]
        await rig.answer("/undo")
        assert await texts(rig) == []
        await rig.answer("/branch to state-1")
        assert await texts(rig) == there
        await rig.answer("/undo")
        assert await texts(rig) == ["one", "answer 1"]
        listed = await rig.answer("/branch list")
        assert "- fork: 2 messages" in listed
        assert "- state-1: 4 messages" in listed
        assert "no state 'nowhere'" in await rig.answer("/branch to nowhere")
        for branch in ("main", "fork", "state-1"):
            assert_whole(rig, branch)
        assert graph_of(rig, "fork").versions()[0].origin is not None
        drawing = draw([graph_of(rig, name) for name in ("main", "fork", "state-1")])
        assert any("two" in str(row) for row in rows(drawing))


@pytest.mark.req("J5", "W21")
async def test_going_back_survives_a_restart(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=counted) as rig:
        await rig.answer("one")
        await rig.answer("/branch fork")
        await rig.answer("two")
        await rig.answer("/branch to fork")
        await rig.crash()

    async with open_rig(tmp_path, script=counted, clock=rig.clock) as rig:
        assert await texts(rig) == ["one", "answer 1"]
        await rig.answer("three")
        assert [m.text for m in rig.model.calls[-1].request.messages] == [
            "one",
            "answer 1",
            "three",
        ]
        assert_whole(rig)


@pytest.mark.req("J24", "W18")
async def test_nobody_takes_back_or_reads_what_was_said_before_they_joined(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=counted) as rig:
        await rig.answer("hello")
        ann = await rig.store.people.find("rest", "ann")
        assert ann is not None
        await rig.core.memory.facts.set(ann.id, "diet", value="vegan", source="operator")
        await rig.answer("/new")
        await rig.answer("private")
        told = await rig.answer("/undo", user="bob")
        assert "nothing to take back" in told
        await rig.answer("bobs words", user="bob")
        told = await rig.answer("/undo 5", user="bob")
        assert "bobs words" in told
        assert "private" not in told
        assert await texts(rig) == ["private", "answer 2"]
        await rig.answer("more", user="bob")
        await rig.answer("/branch mine", user="bob")
        await rig.answer("and more", user="bob")
        assert "Others have joined" in await rig.answer("/branch to mine", user="bob")


@pytest.mark.req("J23", "J25", "W25")
async def test_search_and_learning_are_not_confused(tmp_path: Path) -> None:
    learning = {"MEMORY__EXTRACT": "true"}
    async with open_rig(tmp_path, script=counted, search=True, settings=learning) as rig:
        await rig.answer("apples are red")
        await rig.answer("/branch fork")
        await rig.answer("bananas are blue")
        await rig.answer("/undo")
        await rig.answer("cherries are dark")
        await rig.answer("/retry")
        person = await rig.store.people.find("rest", "ann")
        assert person is not None
        (job,) = await rig.store.jobs.due(rig.clock.now() + 1e6, limit=9, kinds=("extract",))

        heard = (await rig.store.jobs.lessons(job, limit=50)).heard

        assert [one.text for one in heard] == ["apples are red", "cherries are dark"]
        assert len({one.message_id for one in heard}) == 2
        await rig.answer("/branch to fork")
        heard = (await rig.store.jobs.lessons(job, limit=50)).heard
        assert [one.text for one in heard] == ["apples are red"]
        await rig.answer("/branch to state-1")
        heard = (await rig.store.jobs.lessons(job, limit=50)).heard
        assert [one.text for one in heard] == ["apples are red", "cherries are dark"]
        assert await all_hits(rig, person.id) == ONCE
    # An index that is made anew reads the graphs, and finds the same.
    forget_index(tmp_path)
    async with open_rig(tmp_path, script=counted, search=True) as rig:
        assert await all_hits(rig, person.id) == ONCE


def forget_index(home: Path) -> None:
    for file in home.glob("search.db*"):
        file.unlink()


ONCE = {"apples": 1, "bananas": 1, "cherries": 1, "answer 3": 1, "answer 4": 1}


async def all_hits(rig: Rig, person_id: str) -> dict[str, int]:
    return {word: await hits(rig, f'"{word}"', person_id) for word in ONCE}


async def hits(rig: Rig, word: str, person_id: str) -> int:
    assert rig.core.search is not None
    asker = Searcher(person_id, rig.lane(), is_private=True)
    return len((await rig.core.search.find(SearchAsk(text=word, asker=asker, limit=20))).found)


@pytest.mark.req("J5", "J10", "J19")
@pytest.mark.parametrize("command", ["/undo", "/retry", "/branch fork", "/branch to begun", EDIT])
def test_whenever_it_is_killed_it_is_done_whole_or_not_at_all(tmp_path: Path, command: str) -> None:
    program = [sys.executable, "-m", "tests.contract.journal.rewind_kills", str(tmp_path), command]

    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr
    kills = done.stdout.splitlines()[-1].removesuffix(" kills")
    assert int(kills) > 4


SAYS = st.sampled_from(["say", "tool", "fail"])
OPS = st.one_of(
    SAYS.map(lambda kind: (kind, 0)),
    st.tuples(st.just("undo"), st.integers(1, 3)),
    st.just(("retry", 0)),
    st.just(("keep", 0)),
    st.tuples(st.just("to"), st.integers(0, 9)),
)
Exchange = tuple[str, ...]


class Told:
    """What should be said in a conversation, as plain lists."""

    def __init__(self) -> None:
        self.now: list[Exchange] = []
        self.states: dict[str, list[Exchange]] = {}

    def texts(self) -> list[str]:
        return [text for exchange in self.now for text in exchange]

    def go_to(self, name: str) -> None:
        if self.now and self.now not in self.states.values():
            self.states[free_name(self.states)] = self.now
        self.now = list(self.states[name])


def free_name(states: dict[str, list[Exchange]]) -> str:
    return next(f"state-{n}" for n in count(1) if f"state-{n}" not in states)


async def act(rig: Rig, told: Told, op: tuple[str, int], number: int) -> None:
    """Do one thing in the conversation and in the lists."""
    kind, size = op
    if kind in ("say", "tool", "fail"):
        words = f"{number} {kind} [[tool:look]]" if kind == "tool" else f"{number} {kind}"
        answer = await rig.answer(words)
        said = {"say": (answer,), "tool": ("", "", answer), "fail": ()}[kind]
        told.now = [*told.now, (words, *said)]
    elif kind == "undo":
        await rig.answer(f"/undo {size}")
        told.now = told.now[: max(0, len(told.now) - size)]
    elif kind == "retry":
        answer = await rig.answer("/retry")
        if told.now and "fail" not in told.now[-1][0]:
            told.now = [*told.now[:-1], (*told.now[-1][:-1], answer)]
    elif kind == "keep":
        await rig.answer("/branch")
        if told.now:
            told.states[free_name(told.states)] = told.now
    elif told.states:
        name = sorted(told.states)[size % len(told.states)]
        await rig.answer(f"/branch to {name}")
        told.go_to(name)


def mixed(seen: SeenConversation, number: int) -> ScriptedTurn:
    if "fail" in seen.last_text:
        return ScriptedTurn(fault="status", status=400)
    return counted(seen, number)


async def play(home: Path, ops: list[tuple[str, int]]) -> None:
    told = Told()
    async with open_rig(home, script=mixed, tools=(RunTool("look"),)) as rig:
        for number, op in enumerate(ops):
            await act(rig, told, op, number)
            assert await texts(rig) == told.texts(), ops[: number + 1]
        await rig.answer("the end")
        sampled = [graph_of(rig).is_sampled(index) for index in range(len(graph_of(rig)))]
        roles = [message["role"] for message in graph_of(rig)]
        assert sampled == [role == "assistant" for role in roles]
        for name, state in told.states.items():
            assert_whole(rig, name)
            kept = [m["parts"][0].get("text", "") for m in graph_of(rig, name)]
            assert len(kept) == sum(map(len, state))
        assert_whole(rig)
        assert len(graph_of(rig).calls()) == len(rig.model.calls) - failures(rig)
        await rig.crash()
    async with open_rig(home, script=mixed, tools=(RunTool("look"),)) as rig:
        assert (await texts(rig))[:-2] == told.texts()


def failures(rig: Rig) -> int:
    return sum("fail" in call.request.messages[-1].text for call in rig.model.calls)


@pytest.mark.req("J5", "G1", "G7")
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(OPS, min_size=1, max_size=14))
def test_any_mix_of_them_is_what_plain_lists_would_be(ops: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as home:
        asyncio.run(play(Path(home), ops))
