"""J8, J9, W37: a question outlives the process; whoever repeats the call takes it over."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hermes.ports.tool import Question, ToolContext, ToolTraits
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel
from tests.contract.journal.rig import PUSH, Rig, RunTool, equals, open_rig
from tests.contract.journal.test_questions import CITY, TRIP, asked, results, rows, sent
from tests.stores.opening import tables
from tests.torture.processes import ROOT

REPEATED = ToolTraits(idempotent=True, parallel=True, cancellable=True)
THANKS = "Thank you, I passed that on."


class Asking(RunTool):
    """A tool that may be repeated: it waits until it may ask, asks, and waits until it may end."""

    def __init__(
        self,
        name: str = "trip",
        schema: Mapping[str, Any] = CITY,
        *,
        times: int = 1,
        asks: bool = True,
        ends: bool = True,
    ) -> None:
        super().__init__(name, self._ask, traits=REPEATED)
        self._schema = schema
        self._times = times
        self.may_ask, self.may_end = asyncio.Event(), asyncio.Event()
        self.answers: list[object] = []
        if asks:
            self.may_ask.set()
        if ends:
            self.may_end.set()

    async def _ask(self, context: ToolContext) -> str:
        assert context.ask is not None
        await self.may_ask.wait()
        for _ in range(self._times):
            question = Question(text="Where to?", schema=self._schema, within_s=60.0)
            self.answers.append(await context.ask(question))
        await self.may_end.wait()
        return f"{self.spec.name}: {self.answers}"


async def state(rig: Rig, question: str) -> tuple[str, str | None]:
    """Return how a question stands, and who decided that."""
    row = await rig.store.approvals.get(question)
    assert row is not None
    return row.state, row.decided_by


async def cut_off(
    home: Path, tool: RunTool, *, said: tuple[str, ...] = (), clock: ManualClock | None = None
) -> tuple[str, str]:
    """Let a process end while its tool waits; return the message and the question."""
    async with open_rig(home, tools=(tool,), clock=clock) as rig:
        message_id = await rig.say("[[tool:trip]] please")
        question = await asked(rig)
        for text in said:
            await rig.answer(text)
    return message_id, question


@pytest.mark.req("J8", "J9", "W37")
async def test_a_repeated_call_takes_its_question_over_without_posting_it_again(
    tmp_path: Path,
) -> None:
    push, lane = MemoryChannel(PUSH, name="push"), "agent:main:push:dm:ann"
    async with open_rig(tmp_path, tools=(Asking(),), push=push) as rig:
        message_id = await rig.say("[[tool:trip]] please", platform="push")
        question = await asked(rig, lane)
        await rig.until(lambda: any("Where to?" in text for text in sent(rig)))

    tool = Asking()
    async with open_rig(tmp_path, tools=(tool,), push=push) as rig:
        await rig.until(lambda: tool.runs == 1)
        told = await rig.answer("rome", platform="push")

        assert told == THANKS
        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == ["trip: [{'to': 'Rome'}]"]
        assert (await state(rig, question))[0] == "approved"
        assert await rows(rig, message_id) == ["asked", "resumed"]
        assert sum("Where to?" in text for text in sent(rig)) == 1
        assert "rome" not in [one.text for one in rig.model.calls[-1].request.messages]
        # and what the person says next is a message again
        await rig.answer("Oslo", platform="push")
        assert rig.model.calls[-1].request.messages[-1].text == "Oslo"


@pytest.mark.req("J8", "J9", "W37")
@pytest.mark.parametrize("started", [True, False])
async def test_an_answer_before_the_tool_asks_again_is_kept_for_it(
    tmp_path: Path, started: bool
) -> None:
    message_id, question = await cut_off(tmp_path, Asking())

    tool = Asking(asks=False)
    async with open_rig(tmp_path, tools=(tool,), start=started) as rig:
        answer = await rig.say("Oslo")
        await (asyncio.sleep(0) if started else rig.start())
        await rig.outcome(answer)
        told = await rig.store.inbox.result(answer)
        assert told is not None
        assert told.text == THANKS
        assert (await state(rig, question)) == ("approved", answer)
        # a further message is none of the question's
        assert rig.core.questions.at(rig.lane()) is None
        tool.may_ask.set()

        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == ["trip: [{'to': 'Oslo'}]"]


@pytest.mark.req("J8", "J9", "W37")
async def test_an_answer_that_was_given_is_used_by_the_repeated_call_at_once(
    tmp_path: Path,
) -> None:
    message_id, question = await cut_off(tmp_path, Asking(ends=False), said=("Rome",))

    async with open_rig(tmp_path, tools=(Asking(),)) as rig:
        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == ["trip: [{'to': 'Rome'}]"]
        assert [one.row.id for one in await rig.store.approvals.questions_of(message_id)] == [
            question
        ]


@pytest.mark.req("J8", "J9", "W37")
@pytest.mark.parametrize(("said", "answer"), [("/deny", None), ("no thanks", None)])
async def test_a_no_that_was_given_is_used_as_well(
    tmp_path: Path, said: str, answer: object
) -> None:
    message_id, question = await cut_off(tmp_path, Asking(ends=False), said=(said,))

    async with open_rig(tmp_path, tools=(Asking(),)) as rig:
        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == [f"trip: [{answer}]"]
        assert (await state(rig, question))[0] == "denied"


@pytest.mark.req("J8", "W37")
async def test_fields_that_were_answered_before_a_restart_are_not_asked_again(
    tmp_path: Path,
) -> None:
    message_id, _ = await cut_off(tmp_path, Asking(schema=TRIP), said=("oslo", "a few"))

    async with open_rig(tmp_path, tools=(Asking(schema=TRIP),)) as rig:
        told = [await rig.answer(text) for text in ("3", "yes")]

        assert told == ["sure (yes or no)", THANKS]
        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == ["trip: [{'to': 'Oslo', 'days': 3, 'sure': True}]"]


@pytest.mark.req("J8", "J9", "W37")
async def test_the_same_question_asked_twice_is_answered_twice_in_the_same_order(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, tools=(first := Asking(times=2),)) as rig:
        message_id = await rig.say("[[tool:trip]] please")
        await asked(rig)
        await rig.answer("Rome")
        await rig.until(lambda: len(first.answers) == 1)
        await asked(rig)

    async with open_rig(tmp_path, tools=(Asking(times=2),)) as rig:
        assert await rig.answer("Oslo") == THANKS
        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == ["trip: [{'to': 'Rome'}, {'to': 'Oslo'}]"]
        assert len(await rig.store.approvals.questions_of(message_id)) == 2


@pytest.mark.req("J8", "J9", "W37")
async def test_another_tool_waits_until_a_question_from_before_the_restart_is_settled(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, tools=(Asking("a"), Asking("b"))) as rig:
        message_id = await rig.say("[[tool:a]] [[tool:b]] please")
        first = await asked(rig)

    # given that the other tool is the first to ask
    late = {"a": Asking("a", asks=False), "b": Asking("b")}
    async with open_rig(tmp_path, tools=tuple(late.values())) as rig:
        await rig.until(lambda: late["a"].runs == late["b"].runs == 1)
        assert await asked(rig) == first
        late["a"].may_ask.set()
        await rig.answer("Rome")
        await rig.until(lambda: rig.core.questions.at(rig.lane()) is not None)
        await rig.answer("Oslo")

        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == ["a: [{'to': 'Rome'}]", "b: [{'to': 'Oslo'}]"]
        assert len(await rig.store.approvals.questions_of(message_id)) == 2


@pytest.mark.req("J9", "W37")
@pytest.mark.parametrize(
    ("said", "told", "outcome"),
    [
        ("/deny", "I passed on that you decline.", "answered"),
        ("/stop", "Stopped.", "interrupted"),
    ],
)
async def test_a_question_that_was_taken_over_is_declined_and_stopped_like_any_other(
    tmp_path: Path, said: str, told: str, outcome: str
) -> None:
    message_id, question = await cut_off(tmp_path, Asking())

    tool = Asking()
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        await rig.until(lambda: tool.runs == 1)
        assert "in words" in await rig.answer("/approve")
        assert await rig.answer(said) == told

        assert await rig.outcome(message_id) == outcome
        assert (await state(rig, question))[0] == "denied"
        assert len(await rig.store.approvals.questions_of(message_id)) == 1
        assert rig.core.questions.at(rig.lane()) is None


@pytest.mark.req("J8", "J14", "W37")
async def test_the_question_of_a_subagent_is_taken_over_as_well(tmp_path: Path) -> None:
    async def delegate(context: ToolContext) -> str:
        return await context.run_child("[[tool:trip]] go", "")

    def tools() -> tuple[RunTool, ...]:
        return RunTool("delegate", delegate, traits=REPEATED), Asking()

    async with open_rig(tmp_path, tools=tools()) as rig:
        message_id = await rig.say("[[tool:delegate]] please")
        question = await asked(rig)

    async with open_rig(tmp_path, tools=tools()) as rig:
        assert await rig.answer("Oslo") == THANKS

        assert await rig.outcome(message_id) == "answered"
        row = await rig.store.approvals.get(question)
        assert row is not None
        assert (row.state, row.message_id == message_id) == ("approved", False)
        assert len(await rig.store.approvals.questions_of(row.message_id)) == 1


@pytest.mark.req("J9", "W37")
async def test_after_a_restart_nobody_answers_for_another(tmp_path: Path) -> None:
    room: dict[str, Any] = {"chat": "room", "chat_type": "group", "thread": "7"}
    async with open_rig(tmp_path, tools=(Asking(),)) as rig:
        message_id = await rig.say("[[tool:trip]] please", user="ann", **room)
        record = (await rig.timeline(message_id)).message
        assert record is not None
        question = await asked(rig, record.lane)

    async with open_rig(tmp_path, tools=(Asking(),)) as rig:
        other = await rig.say("Rome", user="bob", **room)
        refused = await rig.say(f"/deny {question}", user="bob", **room)
        assert await rig.outcome(refused) == "refused"
        await rig.outcome(await rig.say("Oslo", user="ann", **room))

        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == ["trip: [{'to': 'Oslo'}]"]
        assert (await state(rig, question))[0] == "approved"
        assert await rig.outcome(other) == "answered"


@pytest.mark.req("J9", "W37")
async def test_a_turn_that_does_not_ask_again_closes_its_question(tmp_path: Path) -> None:
    message_id, question = await cut_off(tmp_path, Asking())

    tool = RunTool("trip", traits=REPEATED)
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        assert await rig.outcome(message_id) == "answered"
        assert await state(rig, question) == ("expired", "restart")
        await rig.until(lambda: rig.core.questions.at(rig.lane()) is None)
        await rig.answer("Rome")
        assert rig.model.calls[-1].request.messages[-1].text == "Rome"


@pytest.mark.req("J8", "J9", "W37")
async def test_a_call_that_is_not_repeated_closes_its_question_and_a_late_answer_is_told_so(
    tmp_path: Path,
) -> None:
    message_id, question = await cut_off(tmp_path, Asking())

    # given an answer that came before it was known which tools there are
    async with open_rig(tmp_path, tools=(RunTool("trip"),), start=False) as rig:
        late = await rig.say("Rome")
        await rig.start()
        assert await state(rig, question) == ("expired", "restart")
        await rig.outcome(late)
        told = await rig.store.inbox.result(late)
        assert told is not None
        assert told.text.startswith("That question is closed by now.")
        assert await rig.outcome(message_id) == "answered"
        assert "outcome unknown" in results(rig)[0]


@pytest.mark.req("J9", "W37")
async def test_a_question_whose_time_ran_out_meanwhile_is_declined_for_the_tool(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    message_id, question = await cut_off(tmp_path, Asking(), clock=clock)
    clock.advance(61)

    async with open_rig(tmp_path, tools=(Asking(),), clock=clock) as rig:
        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == ["trip: [None]"]
        assert (await state(rig, question))[0] == "expired"


@pytest.mark.req("J9", "W37")
async def test_a_tool_whose_question_ran_out_of_time_gets_no_answer_to_another_question(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, tools=(Asking("a"), Asking("b")), clock=clock) as rig:
        message_id = await rig.say("[[tool:a]] [[tool:b]] please")
        first = await asked(rig)
    clock.advance(59.9)

    # given that the other tool asks once the time of the first question is up
    late = {"a": Asking("a", asks=False), "b": Asking("b")}
    async with open_rig(tmp_path, tools=tuple(late.values()), clock=clock) as rig:
        await rig.until(lambda: getattr(rig.core.questions.at(rig.lane()), "id", first) != first)
        late["a"].may_ask.set()
        assert await rig.answer("Oslo") == THANKS

        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == ["a: [None]", "b: [{'to': 'Oslo'}]"]


@pytest.mark.req("J9", "J24", "W37")
async def test_erasing_a_person_destroys_what_is_kept_of_their_questions(tmp_path: Path) -> None:
    tool = Asking(schema=TRIP, asks=True)
    message_id, question = await cut_off(tmp_path, tool, said=("oslo",))

    async with open_rig(tmp_path, tools=(tool,), start=False) as rig:
        (before,) = await rig.store.approvals.questions_of(message_id)
        record = (await rig.timeline(message_id)).message
        assert record is not None
        await rig.store.people.erase(record.person_id, at=rig.clock.now())
        (after,) = await rig.store.approvals.questions_of(message_id)
        await rig.start()
        await rig.until(lambda: rig.core.questions.at(rig.lane()) is None)

        assert b"Where to?" in (before.question or b"")
        assert b"oslo" in (before.answer or b"")
        assert (after.question, after.answer) == (None, None)
        await rig.until(equals(lambda: state(rig, question), ("expired", "restart")))


@pytest.mark.req("W37")
async def test_who_watches_after_a_restart_is_shown_the_open_question(tmp_path: Path) -> None:
    message_id, question = await cut_off(tmp_path, Asking(schema=TRIP), said=("oslo",))

    async with open_rig(tmp_path, tools=(Asking(schema=TRIP, asks=False),)) as rig:
        shown = await rig.watch.end(message_id)
        assert (shown.kind, shown.text) == ("question", "days (a whole number)")
        assert shown.result is not None
        assert shown.result.question == question


@pytest.mark.req("J8", "J9", "W37")
@pytest.mark.parametrize("point", ["", "store.ask.after", "store.answer_question.after"])
def test_j8_kill_at_every_point_of_a_turn_whose_tool_asks(tmp_path: Path, point: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.journal.question_kills", str(tmp_path), point],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )

    assert done.returncode == 0, done.stderr[-4_000:]
    told = re.search(r"(\d+) kills, (\d+) asked again", done.stdout)
    assert told is not None
    assert int(told[1]) >= 20
    assert int(told[2]) >= 5


@pytest.mark.req("J8", "W37")
async def test_a_question_that_was_damaged_on_disk_is_closed_and_stops_no_start(
    tmp_path: Path,
) -> None:
    _, question = await cut_off(tmp_path, Asking())
    with tables(tmp_path) as db:
        db.execute(
            "UPDATE blobs SET sealed = ?1 WHERE id = (SELECT question FROM approvals WHERE id = ?2)",
            (b"\x00" * 40, question),
        )

    async with open_rig(tmp_path, tools=(Asking(asks=False),)) as rig:
        assert await state(rig, question) == ("expired", "restart")
        assert (await rig.answer("hello", chat="bob")).endswith("hello")
