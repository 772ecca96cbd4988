"""An answer that reached its length limit is continued, or says that it is not whole; so are refusals."""

import os
from pathlib import Path

import pytest

from hermes.control.why import explain
from hermes.graph import MessageGraph
from hermes.graph.exports import Report, export_rows, verify_row
from hermes.message.session_key import graph_name
from hermes.ports.channel import Capabilities
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel
from hermes.testing.model_script import Script, ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, open_rig

FIRST = "The answer has three parts. The first part is long, and the second part comes"
SECOND = "the second part comes after it. The third part is the shortest of"
THIRD = "part is the shortest of all three."
WHOLE = (
    "The answer has three parts. The first part is long, and the second part comes after it. "
    "The third part is the shortest of all three."
)
MARK = '\n\n(My answer was too long and stops here. Say "continue" and I go on.)'
PARTS = (
    ScriptedTurn(text=FIRST, deltas=7, stops="length"),
    ScriptedTurn(text=SECOND, deltas=5, stops="length"),
    ScriptedTurn(text=THIRD, deltas=3),
)
CAN_EDIT = Capabilities(delivery="push", unknown="allow", edit=True)


def in_parts(*turns: ScriptedTurn) -> Script:
    """Return a model that gives these answers, and hangs after them."""

    def script(_seen: SeenConversation, number: int) -> ScriptedTurn:
        return turns[number - 1] if number <= len(turns) else ScriptedTurn(fault="hang")

    return script


def graph_of(rig: Rig) -> MessageGraph:
    return rig.store.graphs.open(graph_name(rig.lane(), 0))


@pytest.mark.req("A20", "W20", "J8")
async def test_an_answer_at_its_limit_is_continued_in_calls_of_their_own(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=in_parts(*PARTS)) as rig:
        message_id = await rig.say("Tell me all.")
        seen = [one async for one in rig.core.gateway_api.watch(message_id)]

        result = await rig.store.inbox.result(message_id)
        story = await rig.timeline(message_id)
        assert result is not None
        assert (result.text, result.stop_reason, result.reason) == (WHOLE, None, None)
        assert "".join(one.text for one in seen if one.kind == "delta") == WHOLE
        assert [one.kind for one in seen if one.kind == "restart"] == []
        assert [(one.kind, one.state) for one in story.steps] == [
            ("prepared", "done"),
            ("model", "done"),
            ("model", "done"),
            ("model", "done"),
        ]
        assert result.usage.tokens_out == 7 + 5 + 3


@pytest.mark.req("G4", "G6", "W21")
async def test_the_graph_has_each_call_as_a_model_saw_and_wrote_it(tmp_path: Path) -> None:
    after = ScriptedTurn(text="You are welcome.")
    async with open_rig(tmp_path, script=in_parts(*PARTS, after)) as rig:
        await rig.answer("Tell me all.")
        await rig.answer("thanks a lot for all of that")
        graph = graph_of(rig)

        assert graph.verify().problems == ()
        calls = graph.calls()
        assert [call.metadata["stop_reason"] for call in calls] == [
            "length",
            "length",
            "end",
            "end",
        ]
        shown = [
            [*made.request.system, *(m.text for m in made.request.messages)]
            for made in rig.model.calls
        ]
        texts = [["".join(p["text"] for p in m["parts"]) for m in graph.at(c)] for c in calls]
        assert texts == shown
        assert shown[3][: len(shown[2])] == shown[2]
        report = Report()
        salt = os.urandom(16)
        rows = list(
            export_rows([graph], "openai", may_train=lambda _: True, salt=salt, report=report)
        )
        assert (report.rows, report.trained) == (1, 4)
        assert [row for row in rows if verify_row(row)] == []


@pytest.mark.req("A20", "W20")
async def test_after_the_last_continuation_the_person_is_told_how_to_go_on(tmp_path: Path) -> None:
    again = ScriptedTurn(text=" and so on and on", stops="length")
    async with open_rig(tmp_path, script=in_parts(again, again, again, again, again)) as rig:
        message_id = await rig.say("Tell me all.")
        assert await rig.outcome(message_id) == "answered"

        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert result.text.endswith(MARK)
        assert result.stop_reason == "length"
        assert result.reason is not None
        assert "output limit" in result.reason
        assert len(rig.model.calls) == 4
        report = await explain(rig.store, message_id, now=rig.clock.now())
        stops = [
            line.data.get("stopped") for line in report.lines if line.what.startswith("model ")
        ]
        assert stops == ["length"] * 4


@pytest.mark.req("A20")
async def test_with_no_continuations_an_answer_is_only_marked(tmp_path: Path) -> None:
    off = {"TURNS__CONTINUATIONS": "0"}
    async with open_rig(tmp_path, script=in_parts(*PARTS), settings=off) as rig:
        assert await rig.answer("Tell me all.") == FIRST + MARK
        assert len(rig.model.calls) == 1


@pytest.mark.req("A20", "J8")
async def test_a_continuation_that_fails_leaves_what_was_written(tmp_path: Path) -> None:
    broken = ScriptedTurn(fault="status", status=500)
    async with open_rig(tmp_path, script=in_parts(PARTS[0], broken)) as rig:
        message_id = await rig.say("Tell me all.")
        assert await rig.outcome(message_id) == "answered"

        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert (result.text, result.stop_reason) == (FIRST + MARK, "length")
        assert [m["role"] for m in graph_of(rig)] == ["user", "assistant"]


@pytest.mark.req("A20")
async def test_a_continuation_that_breaks_off_stays_as_far_as_it_was_shown(tmp_path: Path) -> None:
    more = "the second part comes " + "and it goes on " * 40
    broken = ScriptedTurn(text=more, deltas=20, fault="truncate", after=19)
    async with open_rig(tmp_path, script=in_parts(PARTS[0], broken)) as rig:
        text = await rig.answer("Tell me all.")

        assert text.startswith(f"{FIRST} and it goes on ")
        assert text.endswith(MARK)
        graph = graph_of(rig)
        assert [m["role"] for m in graph] == ["user", "assistant", "user", "assistant"]
        assert [graph.is_sampled(at) for at in range(4)] == [False, True, False, False]


@pytest.mark.req("A20")
async def test_a_model_that_begins_again_says_nothing_twice(tmp_path: Path) -> None:
    again = ScriptedTurn(text=f"Sure! {WHOLE}", deltas=9)
    async with open_rig(tmp_path, script=in_parts(PARTS[0], again)) as rig:
        assert await rig.answer("Tell me all.") == FIRST + MARK


@pytest.mark.req("A20", "J21")
async def test_a_continuation_that_the_budget_does_not_cover_is_left_to_the_person(
    tmp_path: Path,
) -> None:
    limits = {
        "BUDGETS__PERSON_MONTH_USD": "0.00005",
        "BUDGETS__EXPECTED_OUTPUT_TOKENS": "1",
        "PROVIDERS__SCRIPTED__BASE_URL": "http://127.0.0.1:9/v1",
        "PROVIDERS__SCRIPTED__PRICE_IN_PER_MILLION": "0",
        "PROVIDERS__SCRIPTED__PRICE_OUT_PER_MILLION": "10",
    }
    async with open_rig(tmp_path, script=in_parts(*PARTS), settings=limits) as rig:
        assert await rig.answer("Tell me all.") == FIRST + MARK
        assert len(rig.model.calls) == 1


@pytest.mark.req("J7", "J8")
async def test_j8_a_crash_between_two_calls_continues_the_answer(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, script=in_parts(PARTS[0])) as rig:
        message_id = await rig.say("Tell me all.")
        await rig.until(lambda: len(rig.model.calls) == 2)
        asked = rig.model.calls[1].request

    # The limit is lower now: what was asked for stays asked for.
    lower = {"TURNS__CONTINUATIONS": "1"}
    script = in_parts(ScriptedTurn(text=SECOND, deltas=3))
    async with open_rig(tmp_path, clock=clock, script=script, settings=lower) as rig:
        seen = [one async for one in rig.core.gateway_api.watch(message_id)]
        result = await rig.store.inbox.result(message_id)

        assert result is not None
        assert result.text == WHOLE.removesuffix(" all three.")
        assert rig.model.calls[0].request == asked
        assert "".join(one.text for one in seen if one.kind == "delta") == result.text
        assert graph_of(rig).verify().problems == ()
        story = await rig.timeline(message_id)
        assert [(one.state, one.payer) for one in story.steps if one.kind == "model"] == [
            ("done", "person"),
            ("lost", "platform"),
            ("done", "person"),
        ]


@pytest.mark.req("J12")
async def test_j12_a_stop_while_it_is_continued_keeps_each_word_once(tmp_path: Path) -> None:
    more = "the second part comes " + "and it goes on " * 40
    hanging = ScriptedTurn(text=more, deltas=20, fault="hang", after=19)
    async with open_rig(tmp_path, script=in_parts(PARTS[0], hanging)) as rig:
        message_id = await rig.say("Tell me all.", platform="push")
        await rig.until(lambda: "it goes on" in rig.watch.text(message_id))
        await rig.say("/stop", platform="push")
        assert await rig.outcome(message_id) == "interrupted"

        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert result.text.startswith(f"{FIRST} and it goes on ")
        said = [
            part["text"]
            for message in rig.store.graphs.open(graph_name(rig.lane(platform="push"), 0))
            for part in message["parts"]
            if message["role"] == "assistant"
        ]
        assert "".join(said) == result.text


@pytest.mark.req("W19")
async def test_w19_the_preview_of_a_continued_answer_goes_on(tmp_path: Path) -> None:
    push = MemoryChannel(CAN_EDIT, name="push")
    async with open_rig(tmp_path, script=in_parts(*PARTS), push=push) as rig:
        await rig.say("Tell me all.", platform="push")
        await rig.as_time_passes(lambda: push.texts("ann") == [WHOLE])


@pytest.mark.req("A20", "W20")
async def test_a_refused_answer_says_so(tmp_path: Path) -> None:
    script = in_parts(ScriptedTurn(text="I would", stops="refusal"), ScriptedTurn(stops="refusal"))
    async with open_rig(tmp_path, script=script) as rig:
        first = await rig.say("one")
        assert await rig.outcome(first) == "answered"
        second = await rig.say("two")
        assert await rig.outcome(second) == "failed"

        cut, none = await rig.store.inbox.result(first), await rig.store.inbox.result(second)
        assert cut is not None
        assert none is not None
        assert cut.text == "I would\n\n(My model refused to go on here. Other words may help.)"
        assert cut.stop_reason == "refusal"
        assert none.text == "My model refused to answer that. Please ask in other words."
        assert none.reason == "the model, or its service's content filter, refused to answer"


@pytest.mark.req("A6", "W20", "J11")
async def test_an_empty_answer_is_a_failure_that_costs_the_person_nothing(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=in_parts(ScriptedTurn())) as rig:
        message_id = await rig.say("hello")

        assert await rig.outcome(message_id) == "failed"
        story = await rig.timeline(message_id)
        assert story.result is not None
        assert story.result.reason == "empty answer"
        assert story.result.usage.tokens_in == 0
        assert story.result.platform_usage.tokens_in > 0
        assert [line["kind"] for line in story.ledger] == []
