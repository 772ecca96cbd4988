"""One running call: its limit, its questions, and what it tells meanwhile."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from hermes.ports.tool import ToolContext
from hermes.testing.manual_time import settle
from hermes.tools.mcp.calls import RunningCall
from hermes.tools.mcp.questions import Schema
from tests.unit.calls.test_stream_timeout import pass_by, run
from tests.unit.tools.mcp.twin_link import context_of

SCHEMA: Schema = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}


class Person:
    """Who is asked: keeps the questions, and answers when told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.answers: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue()

    async def __call__(
        self, context: ToolContext, text: str, *, schema: Schema, within_s: float
    ) -> Mapping[str, Any] | None:
        self.asked.append((context.person_id, text))
        return await self.answers.get()


def a_call(person: Person | None, *, ask_timeout_s: float = 60.0) -> RunningCall:
    return RunningCall(context_of("p_ann"), server="s", ask=person, ask_timeout_s=ask_timeout_s)


@pytest.mark.req("W37")
async def test_a_question_goes_to_the_person_of_the_call() -> None:
    person = Person()
    person.answers.put_nowait({"name": "Ada"})

    assert await a_call(person).question("Who?", SCHEMA) == {"name": "Ada"}
    assert person.asked == [("p_ann", "Who?")]


@pytest.mark.req("W37")
async def test_who_cannot_be_asked_declines() -> None:
    assert await a_call(None).question("Who?", SCHEMA) is None


@pytest.mark.req("W37")
async def test_an_answer_that_does_not_fit_is_not_sent() -> None:
    person = Person()
    person.answers.put_nowait({"nick": "Ada"})

    assert await a_call(person).question("Who?", SCHEMA) is None


@pytest.mark.req("W37")
async def test_an_ask_that_fails_declines() -> None:
    async def breaks(
        context: ToolContext, text: str, *, schema: Schema, within_s: float
    ) -> Mapping[str, Any] | None:
        raise OSError("no chat")

    call = RunningCall(context_of(), server="s", ask=breaks)

    assert await call.question("Who?", SCHEMA) is None


@pytest.mark.req("W37")
async def test_stream_timeout_with_a_person_ends() -> None:
    person = Person()

    assert await a_call(person, ask_timeout_s=0.01).question("Who?", SCHEMA) is None


@pytest.mark.req("W37")
async def test_a_server_that_keeps_asking_is_not_passed_on() -> None:
    person = Person()
    for _ in range(9):
        person.answers.put_nowait({"name": "Ada"})
    call = a_call(person)

    answers = [await call.question("Who?", SCHEMA) for _ in range(9)]

    assert [answer is None for answer in answers] == [False] * 5 + [True] * 4
    assert len(person.asked) == 5


@pytest.mark.req("W37")
def test_the_limit_stands_still_while_a_question_is_open() -> None:
    async def story() -> None:
        person = Person()
        call = a_call(person)

        async with call.limit(20):
            asking = asyncio.create_task(call.question("Who?", SCHEMA))
            await pass_by(10)
            # given that the whole limit passes while the person thinks
            await pass_by(40)
            person.answers.put_nowait({"name": "Ada"})
            assert await asking == {"name": "Ada"}
            await pass_by(9)

        with pytest.raises(TimeoutError):
            async with call.limit(10):
                await pass_by(11)

    run(story)


@pytest.mark.req("W37")
async def test_a_question_is_withdrawn_when_the_call_ends() -> None:
    call = a_call(Person())
    async with call.limit(5):
        asking = asyncio.create_task(call.question("Who?", SCHEMA))
        await settle()

    assert await asking is None
    assert await call.question("Who?", SCHEMA) is None


@pytest.mark.req("W37")
async def test_progress_is_passed_on_cleaned_and_thinned_out() -> None:
    told: list[str] = []
    call = RunningCall(context_of(), server="s", tell=lambda _context, text: told.append(text))

    for step in range(1_000):
        await call.progress(step, 1_000, "half\x1b way\n" + "x" * 999)

    [only] = told
    assert only.startswith("0 of 1000: half way x")
    assert len(only) == 200
