"""A10, A14, J23: dreams as journaled jobs on a whole core, and what sessions begin with."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from hermes.errors import AnswerInvalid, Conflict
from hermes.ports.dreams import Dream
from hermes.ports.provider import ModelRequest
from hermes.ports.spend import KillSwitch
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import Script, ScriptedTurn, SeenConversation, answer_by_text
from tests.contract.journal.rig import Rig, open_rig

DAY = 86_400.0
WEEK = 7 * DAY
HANG = "hang"
ALLOWED = {"ROUTING__CLOUD_SUMMARIES": "true"}
DREAMING: Mapping[str, str] = {
    "MEMORY__EARLIER_MESSAGES": "0",
    "MEMORY__DREAM": "true",
    **ALLOWED,
}
_encode = msgspec.json.Encoder().encode


def dreamer(*answers: str) -> Script:
    """Return a model that talks, and gives these answers in turn when it is asked to dream."""
    left = iter(answers)

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if seen.last_text.startswith("What is known:"):
            text = next(left)
            return ScriptedTurn(text=text, fault="hang" if text == HANG else None)
        return answer_by_text(seen, number)

    return script


def dreamt(*insights: str, gaps: tuple[str, ...] = ()) -> str:
    return _encode({"insights": insights, "gaps": gaps}).decode()


async def person_of(rig: Rig, user: str = "ann") -> str:
    person = await rig.store.people.find("rest", user)
    assert person is not None
    return person.id


async def dream_of(rig: Rig, user: str = "ann") -> Dream | None:
    return await rig.store.dreams.of(await person_of(rig, user))


async def insights(rig: Rig, user: str = "ann") -> tuple[str, ...] | None:
    dream = await dream_of(rig, user)
    return None if dream is None else dream.insights


def last(rig: Rig) -> ModelRequest:
    return rig.model.calls[-1].request


async def rounds(rig: Rig, *, hours: int) -> int:
    """Let time go by, looking for jobs every hour; returns how many were tried."""
    tried = 0
    for _ in range(hours):
        tried += await rig.core.memory.worker.round()
        rig.clock.advance(3_600)
    return tried


@pytest.mark.req("A10", "A14", "J23")
async def test_a_week_later_what_a_person_wrote_is_the_last_layer_of_new_sessions(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    script = dreamer(dreamt("Runs at dawn.", gaps=("how far", "with whom", "where")))
    async with open_rig(
        tmp_path, clock=clock, settings=DREAMING, script=script, start=False
    ) as rig:
        await rig.core.lanes.start()
        await rig.answer("I was out for a run at five")
        await rig.core.memory.facts.set(
            await person_of(rig), "diet", value="vegan", source="operator"
        )
        assert await rig.core.memory.worker.round() == 0
        clock.advance(WEEK)
        assert await rig.core.memory.worker.round() == 1

        asked = last(rig)
        assert "I was out for a run at five" in asked.messages[0].text
        assert '{"key":"diet","value":"vegan"}' in asked.messages[0].text
        assert asked.tool_choice.name == "dream"
        payers = await rig.store.spend.report("person", first_day="0", last_day="9999")
        assert {row.name: row.calls for row in payers} == {"platform": 1, await person_of(rig): 1}
        channels = await rig.store.spend.report("channel", first_day="0", last_day="9999")
        assert {row.name for row in channels} == {"dream", "rest"}
        assert await rounds(rig, hours=48) == 0

        gaps = []
        for _ in range(4):
            await rig.answer("/new")
            await rig.answer("hello")
            _, facts, dream = last(rig).system
            assert "diet: vegan" in facts
            assert "- Runs at dawn." in dream
            gaps.append(dream.splitlines()[-2])
        assert sorted(gaps[:3]) == ["- how far", "- where", "- with whom"]
        assert gaps[3] == gaps[0]


@pytest.mark.req("W21", "A10")
async def test_the_layer_of_a_session_stays_whatever_is_dreamt_later_and_over_a_restart(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    script = dreamer(dreamt("first", gaps=("a", "b")), dreamt("second", gaps=("c",)))
    async with open_rig(tmp_path, clock=clock, settings=DREAMING, script=script) as rig:
        await rig.answer("hello")
        await rig.core.memory.worker.dream_now(await person_of(rig))
        await rig.answer("hello", chat="other", user="ann")
        before = last(rig).system
        await rig.core.memory.worker.dream_now(await person_of(rig))
        await rig.answer("again", chat="other", user="ann")
        assert last(rig).system == before

    async with open_rig(tmp_path, clock=clock, settings=DREAMING) as rig:
        await rig.answer("and again", chat="other", user="ann")
        assert last(rig).system == before
        assert "first" in before[-1]
        await rig.answer("hello", chat="third", user="ann")
        assert "second" in last(rig).system[-1]


@pytest.mark.req("A10", "A12")
async def test_a_dream_is_told_to_nobody_else_and_not_in_a_group(tmp_path: Path) -> None:
    script = dreamer(dreamt("the secret of ann"))
    async with open_rig(tmp_path, settings=DREAMING, script=script) as rig:
        await rig.answer("hello")
        await rig.core.memory.worker.dream_now(await person_of(rig))
        await rig.answer("hello", chat="bob")
        others = last(rig).system
        await rig.answer("hello", chat="room", user="ann", chat_type="group")

        assert "secret" not in str((others, last(rig).system))


@pytest.mark.req("A14", "J23")
async def test_a_dream_that_a_crash_cut_off_is_dreamt_by_the_next_process(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with open_rig(
        tmp_path, clock=clock, settings=DREAMING, script=dreamer(HANG), start=False
    ) as rig:
        await rig.core.lanes.start()
        await rig.answer("hello")
        clock.advance(WEEK)
        cut_off = asyncio.create_task(rig.core.memory.worker.round())
        await rig.until(lambda: len(rig.model.calls) == 2)
        cut_off.cancel()
        await asyncio.gather(cut_off, return_exceptions=True)
        assert await dream_of(rig) is None

    async with open_rig(
        tmp_path, clock=clock, settings=DREAMING, script=dreamer(dreamt("kept")), start=False
    ) as rig:
        assert await rig.core.memory.worker.round() == 1
        assert await insights(rig) == ("kept",)
        assert await rig.core.memory.worker.round() == 0


@pytest.mark.req("A14", "J23")
async def test_five_failures_park_a_dream_until_the_next_week(tmp_path: Path) -> None:
    clock = ManualClock()
    script = dreamer(*["no dream"] * 5, dreamt("at last"))
    async with open_rig(
        tmp_path, clock=clock, settings=DREAMING, script=script, start=False
    ) as rig:
        await rig.core.lanes.start()
        await rig.answer("hello")
        clock.advance(WEEK)
        assert await rounds(rig, hours=6 * 24) == 5
        assert (await dream_of(rig), await rig.store.jobs.parked()) == (None, 1)
        assert await rounds(rig, hours=30) == 1
        assert (await insights(rig), await rig.store.jobs.parked()) == (("at last",), 0)


@pytest.mark.req("A14")
async def test_dreams_are_spread_over_the_day_also_after_a_long_silence(tmp_path: Path) -> None:
    clock = ManualClock()
    script = dreamer(*[dreamt("x")] * 10)
    settings = {**DREAMING, "MEMORY__DREAMS_A_DAY": "2"}
    async with open_rig(
        tmp_path, clock=clock, settings=settings, script=script, start=False
    ) as rig:
        await rig.core.lanes.start()
        for name in "abcde":
            await rig.answer("hello", chat=name)
        clock.advance(5 * WEEK)

        assert [await rounds(rig, hours=24) for _ in range(4)] == [2, 2, 1, 0]
        assert [await insights(rig, name) for name in "abcde"] == [("x",)] * 5


@pytest.mark.req("A14", "A20")
async def test_nothing_is_dreamt_unless_it_is_turned_on_and_the_kill_switch_stops_it(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, start=False) as rig:
        await rig.core.lanes.start()
        await rig.answer("hello")
        clock.advance(WEEK)
        assert await rig.core.memory.worker.round() == 0
    async with open_rig(
        tmp_path, clock=clock, settings=DREAMING, script=dreamer(dreamt("x")), start=False
    ) as rig:
        await rig.store.spend.set_kill_switch(KillSwitch(is_on=True))
        assert await rounds(rig, hours=48) > 5
        assert (await dream_of(rig), await rig.store.jobs.parked(), rig.model.calls) == (
            None,
            0,
            [],
        )
        await rig.store.spend.set_kill_switch(KillSwitch(is_on=False))
        assert await rounds(rig, hours=2) == 1
        assert await insights(rig) == ("x",)


@pytest.mark.req("A14", "A10")
async def test_an_order_dreams_at_once_and_says_why_it_could_not(tmp_path: Path) -> None:
    script = dreamer(dreamt("now"), "no dream")
    async with open_rig(tmp_path, script=script, settings=ALLOWED) as rig:
        await rig.answer("hello")
        worker = rig.core.memory.worker

        dream = await worker.dream_now(await person_of(rig))
        again = await worker.dream_now(await person_of(rig))
        await rig.answer("news")
        with pytest.raises(AnswerInvalid, match="does not fit the schema"):
            await worker.dream_now(await person_of(rig))

        assert dream is not None
        assert dream.insights == ("now",)
        assert again == dream
        assert await insights(rig) == ("now",)
        shown = await rig.answer("/memory")
        assert shown.splitlines()[0] == "I gathered: now"
        assert await rig.answer("/memory forget everything") == "Forgotten."
        assert await rig.answer("/memory") == "I know nothing of you yet."


@pytest.mark.req("A14", "J23")
async def test_who_is_dreamt_of_just_now_is_not_dreamt_of_twice(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=DREAMING, script=dreamer(HANG), start=False) as rig:
        await rig.core.lanes.start()
        await rig.answer("hello")
        worker = rig.core.memory.worker
        running = asyncio.create_task(worker.dream_now(await person_of(rig)))
        await rig.until(lambda: len(rig.model.calls) == 2)

        assert await worker.round() == 0
        with pytest.raises(Conflict, match="running now"):
            await worker.dream_now(await person_of(rig))

        assert len(rig.model.calls) == 2
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


# The settings know of no provider that a test brings along.
NAMED = {"PROVIDERS__SCRIPTED__BASE_URL": "http://127.0.0.1:9/v1"}


@pytest.mark.req("W1", "A14")
@pytest.mark.parametrize(
    ("settings", "summed_up_by"),
    [
        ({}, "scripted-1"),
        ({"MODELS__SUMMARIES": "scripted:small-1"}, "small-1"),
        (
            {"MODELS__SUMMARIES": "scripted:small-1", "MEMORY__DREAM_MODEL": "scripted:deep-1"},
            "deep-1",
        ),
    ],
)
async def test_summaries_have_a_model_of_their_own_and_conversations_keep_theirs(
    tmp_path: Path, settings: Mapping[str, str], summed_up_by: str
) -> None:
    script = dreamer(dreamt("Runs at dawn."))
    async with open_rig(tmp_path, script=script, settings={**DREAMING, **NAMED, **settings}) as rig:
        await rig.answer("I ran before work.")
        await rig.core.memory.worker.dream_now(await person_of(rig))

        assert await insights(rig) == ("Runs at dawn.",)
        assert [call.request.model for call in rig.model.calls] == ["scripted-1", summed_up_by]


@pytest.mark.req("W1", "W7")
async def test_without_one_they_follow_the_default_that_an_operator_swaps_in(
    tmp_path: Path,
) -> None:
    script = dreamer(dreamt("Runs at dawn."))
    async with open_rig(tmp_path, script=script, settings=DREAMING) as rig:
        await rig.answer("I ran before work.")
        rig.core.models.planner.default_model = "scripted:other-1"
        await rig.core.memory.worker.dream_now(await person_of(rig))

        assert last(rig).model == "other-1"
