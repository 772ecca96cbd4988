"""J9, W37: a running tool asks its person, and the answer passes beside the turn that waits."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hermes.message.parts import ToolResultPart
from hermes.ports.tool import Question, ToolContext, ToolTraits
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, RunTool, open_rig

CITY: Mapping[str, Any] = {
    "type": "object",
    "properties": {"to": {"type": "string", "enum": ["Rome", "Oslo"]}},
    "required": ["to"],
}
TRIP: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "to": {"type": "string", "enum": ["Rome", "Oslo"]},
        "days": {"type": "integer"},
        "sure": {"type": "boolean"},
    },
    "required": ["to", "days", "sure"],
}
STEADY = ToolTraits(parallel=True, cancellable=True)


def asking(
    name: str, schema: Mapping[str, Any] = CITY, *, within_s: float = 60.0, text: str = "Where to?"
) -> RunTool:
    """Return a tool that asks and says what it was told."""

    async def act(context: ToolContext) -> str:
        assert context.ask is not None
        answer = await context.ask(Question(text=text, schema=schema, within_s=within_s))
        return f"{name}: {answer}"

    return RunTool(name, act, traits=STEADY)


def results(rig: Rig) -> list[str]:
    return [
        part.text
        for message in rig.model.calls[-1].request.messages
        for part in message.parts
        if isinstance(part, ToolResultPart)
    ]


def sent(rig: Rig) -> list[str]:
    """Return what was sent over the push platform."""
    return [post.text for post in rig.push.posts.values()]


async def rows(rig: Rig, message_id: str) -> list[str]:
    """Return how the questions of a message stand, from the timeline."""
    events = (await rig.timeline(message_id)).events
    return [str(event.data["state"]) for event in events if event.kind == "question"]


async def asked(rig: Rig, lane: str | None = None) -> str:
    """Wait until a question is open and return its id."""
    await rig.until(lambda: rig.core.questions.at(lane or rig.lane()) is not None)
    opened = rig.core.questions.at(lane or rig.lane())
    assert opened is not None
    return opened.id


@pytest.mark.req("W37", "J9")
@pytest.mark.parametrize("platform", ["rest", "push"])
async def test_a_question_is_put_in_the_chat_and_its_answer_passes_the_running_turn(
    tmp_path: Path, platform: str
) -> None:
    lane = f"agent:main:{platform}:dm:ann"
    async with open_rig(tmp_path, tools=(asking("trip"),)) as rig:
        message_id = await rig.say("[[tool:trip]] please", platform=platform)
        question = await asked(rig, lane)
        row = await rig.store.approvals.get(question)
        assert row is not None
        assert (row.state, row.message_id, row.tool) == ("waiting", message_id, "trip")
        if platform == "push":
            await rig.until(lambda: any("Where to?" in text for text in sent(rig)))

        # an answer that does not fit is asked for again, and the turn still waits
        again = await rig.answer("Paris", platform=platform)
        assert again == "“Paris” does not fit. Please give to (Rome or Oslo)"
        told = await rig.answer("rome", platform=platform)

        assert told == "Thank you, I passed that on."
        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == ["trip: {'to': 'Rome'}"]
        settled = await rig.store.approvals.get(question)
        assert settled is not None
        assert settled.state == "approved"
        # the answer is no message of the conversation
        said = [message.text for message in rig.model.calls[-1].request.messages]
        assert "rome" not in said


@pytest.mark.req("W37")
async def test_several_fields_are_asked_one_after_another_or_taken_at_once(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(asking("trip", TRIP),)) as rig:
        first = await rig.say("[[tool:trip]] please")
        await asked(rig)
        replies = [await rig.answer(text) for text in ("oslo", "a few", "3", "yes")]

        assert replies == [
            "days (a whole number)",
            "“a few” does not fit. Please give days (a whole number)",
            "sure (yes or no)",
            "Thank you, I passed that on.",
        ]
        await rig.outcome(first)
        assert results(rig) == ["trip: {'to': 'Oslo', 'days': 3, 'sure': True}"]

        second = await rig.say("[[tool:trip]] again")
        await asked(rig)
        await rig.answer("to: Rome\ndays: 2\nsure: no")
        await rig.outcome(second)
        assert results(rig)[-1] == "trip: {'to': 'Rome', 'days': 2, 'sure': False}"


@pytest.mark.req("W37", "J9")
@pytest.mark.parametrize("words", ["/deny", "no thanks", "No thank you."])
async def test_a_person_declines(tmp_path: Path, words: str) -> None:
    async with open_rig(tmp_path, tools=(asking("trip"),)) as rig:
        message_id = await rig.say("[[tool:trip]] please")
        question = await asked(rig)
        assert await rig.answer(words) == "I passed on that you decline."

        await rig.outcome(message_id)
        assert results(rig) == ["trip: None"]
        row = await rig.store.approvals.get(question)
        assert row is not None
        assert row.state == "denied"


@pytest.mark.req("W37")
async def test_a_question_without_fields_takes_approve_and_others_want_words(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, tools=(asking("sure", {}), asking("trip"))) as rig:
        first = await rig.say("[[tool:sure]] please")
        await asked(rig)
        assert await rig.answer("perhaps") == "Please answer yes or no."
        assert await rig.answer("/approve") == "Thank you, I passed that on."
        await rig.outcome(first)
        assert results(rig) == ["sure: {}"]

        second = await rig.say("[[tool:trip]] please")
        await asked(rig)
        assert "in words" in await rig.answer("/approve")
        await rig.answer("Oslo")
        await rig.outcome(second)


@pytest.mark.req("W37")
async def test_stream_timeout_ends_and_what_is_said_later_is_an_ordinary_message(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, tools=(asking("trip", within_s=0.05),)) as rig:
        message_id = await rig.say("[[tool:trip]] please")
        await rig.outcome(message_id)

        assert results(rig) == ["trip: None"]
        (question,) = await rig.store.approvals.questions_of(message_id)
        assert question.row.state == "expired"
        assert await rows(rig, message_id) == ["asked", "expired"]
        await rig.answer("Rome")
        assert rig.model.calls[-1].request.messages[-1].text == "Rome"


@pytest.mark.req("W37", "J9")
async def test_an_answer_that_is_being_written_when_the_time_is_up_reaches_the_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_rig(tmp_path, tools=(asking("trip", within_s=1.0),)) as rig:
        message_id = await rig.say("[[tool:trip]] please")
        question = await asked(rig)
        write = rig.store.approvals.answer

        # Any: as the method is called.
        async def slow(*given: Any, **named: Any) -> bool:
            is_written = await write(*given, **named)
            await rig.until(lambda: rig.core.questions.at(rig.lane()) is None)
            return is_written

        monkeypatch.setattr(rig.store.approvals, "answer", slow)
        told = await rig.answer("Rome")

        assert await rig.outcome(message_id) == "answered"
        assert (told, results(rig)) == ("Thank you, I passed that on.", ["trip: {'to': 'Rome'}"])
        row = await rig.store.approvals.get(question)
        assert row is not None
        assert row.state == "approved"


@pytest.mark.req("W37", "J9")
async def test_an_answer_that_comes_too_late_is_told_so(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(asking("trip"),)) as rig:
        message_id = await rig.say("[[tool:trip]] please")
        await asked(rig)
        # given two messages that were taken for answers before the first was read
        first, second = await asyncio.gather(rig.say("Rome"), rig.say("and hurry"))
        await rig.outcome(second)
        await rig.outcome(first)

        told = [await rig.store.inbox.result(one) for one in (first, second)]
        texts = [result.text for result in told if result is not None]
        assert texts[0] == "Thank you, I passed that on."
        assert texts[1].startswith("That question is closed by now.")
        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == ["trip: {'to': 'Rome'}"]


@pytest.mark.req("W37", "J9")
async def test_in_a_group_nobody_answers_for_another(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(asking("trip"),)) as rig:
        room: dict[str, Any] = {"chat": "room", "chat_type": "group", "thread": "7"}
        message_id = await rig.say("[[tool:trip]] please", user="ann", **room)
        lane = (await rig.timeline(message_id)).message
        assert lane is not None
        question = await asked(rig, lane.lane)

        # when another person says what would fit, it is a message of their own
        other = await rig.say("Rome", user="bob", **room)
        refused = await rig.say(f"/deny {question}", user="bob", **room)
        assert await rig.outcome(refused) == "refused"
        result = await rig.store.inbox.result(refused)
        assert result is not None
        assert result.text == "Only the person who was asked may answer this."
        assert rig.core.questions.at(lane.lane) is not None

        # and the one who was asked can still answer
        await rig.outcome(await rig.say("Oslo", user="ann", **room))
        await rig.outcome(message_id)
        assert results(rig) == ["trip: {'to': 'Oslo'}"]
        assert await rig.outcome(other) == "answered"
        assert rig.model.calls[-1].request.messages[-1].text.endswith("Rome")


@pytest.mark.req("W37")
async def test_two_tools_that_ask_at_once_are_answered_one_after_the_other(tmp_path: Path) -> None:
    tools = (asking("a", text="A asks"), asking("b", text="B asks"))
    async with open_rig(tmp_path, tools=tools) as rig:
        message_id = await rig.say("[[tool:a]] [[tool:b]] please", platform="push")
        lane = rig.lane(platform="push")
        first = await asked(rig, lane)
        assert sum("asks" in text for text in sent(rig)) <= 1
        await rig.answer("Rome", platform="push")
        await rig.until(
            lambda: (opened := rig.core.questions.at(lane)) is not None and opened.id != first
        )
        await rig.answer("Oslo", platform="push")

        await rig.outcome(message_id)
        assert sorted(results(rig)) == ["a: {'to': 'Rome'}", "b: {'to': 'Oslo'}"]
        await rig.until(lambda: sum("asks" in text for text in sent(rig)) == 2)


@pytest.mark.req("W37", "J9")
async def test_a_stopped_turn_withdraws_its_question(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(asking("trip"),)) as rig:
        message_id = await rig.say("[[tool:trip]] please")
        question = await asked(rig)
        assert await rig.answer("/stop") == "Stopped."

        assert await rig.outcome(message_id) == "interrupted"
        assert rig.core.questions.at(rig.lane()) is None
        row = await rig.store.approvals.get(question)
        assert row is not None
        assert row.state == "denied"


@pytest.mark.req("W37", "W35")
@pytest.mark.parametrize("name", ["password", "apiKey", "credit_card", "access-token"])
async def test_a_question_for_a_credential_is_declined_and_nobody_is_asked(
    tmp_path: Path, name: str
) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    async with open_rig(tmp_path, tools=(asking("login", schema),)) as rig:
        message_id = await rig.say("[[tool:login]] please", platform="push")

        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == ["login: None"]
        assert await rows(rig, message_id) == ["declined"]
        assert not any("Where to?" in text for text in sent(rig))


@pytest.mark.req("W37")
async def test_where_nobody_can_answer_a_question_is_declined_at_once(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(asking("trip"),)) as rig:
        message_id = await rig.say("[[tool:trip]] please", platform="v1")

        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == ["trip: None"]
        (event,) = [
            one for one in (await rig.timeline(message_id)).events if one.kind == "question"
        ]
        assert event.data["reason"] == "nobody can be asked over v1"


@pytest.mark.req("W37", "J14")
async def test_a_subagents_question_reaches_the_chat_of_its_person(tmp_path: Path) -> None:
    async def delegate(context: ToolContext) -> str:
        return await context.run_child("[[tool:trip]] go", "")

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if seen.tool_results:
            return ScriptedTurn(text=f"child says {seen.tool_results[-1]}")
        return ScriptedTurn(text="ok")

    tools = (RunTool("delegate", delegate), asking("trip"))
    async with open_rig(tmp_path, tools=tools) as rig:
        message_id = await rig.say("[[tool:delegate]] please", platform="push")
        await asked(rig, rig.lane(platform="push"))
        await rig.until(lambda: any("Where to?" in text for text in sent(rig)))
        await rig.answer("Oslo", platform="push")

        assert await rig.outcome(message_id) == "answered"
        assert "trip: {'to': 'Oslo'}" in str(
            [message.text for call in rig.model.calls for message in call.request.messages]
            + [text for call in rig.model.calls for text in _tool_texts(call.request.messages)]
        )


def _tool_texts(messages: Any) -> list[str]:
    return [
        part.text
        for message in messages
        for part in message.parts
        if isinstance(part, ToolResultPart)
    ]


@pytest.mark.req("W37", "J8", "J9")
async def test_a_crash_while_a_question_waits_loses_the_tool_and_closes_the_question(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    dead: list[asyncio.Future[None]] = []

    async def hangs(context: ToolContext) -> str:
        """Ask as a tool does whose process ends: nothing of it is written any more."""
        assert context.ask is not None
        waiting = asyncio.ensure_future(
            context.ask(Question(text="Where to?", schema=CITY, within_s=60))
        )
        dead.append(waiting)  # type: ignore[arg-type]
        await asyncio.Event().wait()
        return ""

    async with open_rig(tmp_path, clock=clock, tools=(RunTool("trip", hangs),)) as rig:
        message_id = await rig.say("[[tool:trip]] please")
        question = await asked(rig)
    for task in dead:
        task.cancel()

    async with open_rig(tmp_path, clock=clock, tools=(asking("trip"),)) as rig:
        row = await rig.store.approvals.get(question)
        assert row is not None
        assert (row.state, row.decided_by) == ("expired", "restart")
        assert await rig.outcome(message_id) == "answered"
        assert "outcome unknown" in results(rig)[0]
        # what the person then answers is an ordinary message
        await rig.answer("Rome")
        assert rig.model.calls[-1].request.messages[-1].text == "Rome"


@pytest.mark.req("W37")
async def test_a_gateway_that_stops_declines_what_is_open(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(asking("trip"),)) as rig:
        message_id = await rig.say("[[tool:trip]] please")
        await asked(rig)

        assert await rig.drain(10) == 0
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert results(rig) == ["trip: None"]


@pytest.mark.req("W37")
async def test_who_watches_is_shown_an_open_question_also_later(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(asking("trip"),)) as rig:
        message_id = await rig.say("[[tool:trip]] please")
        question = await asked(rig)
        kinds: list[str] = []
        async with asyncio.timeout(10):
            async for progress in rig.core.gateway_api.watch(message_id):
                kinds.append(progress.kind)
                if progress.kind == "question":
                    assert progress.result is not None
                    assert progress.result.question == question
                    await rig.say("Rome")
        assert kinds[:2] == ["snapshot", "question"]
        assert "settled" in kinds
        assert kinds[-1] == "done"
