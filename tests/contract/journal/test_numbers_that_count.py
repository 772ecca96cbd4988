"""Numbers of the requirements that an operator has changed take effect."""

from pathlib import Path

import pytest

from hermes.testing.manual_time import ManualClock
from tests.contract.journal.rig import open_rig
from tests.contract.journal.test_cron import always, at, look, open_cron, schedule, set_clock
from tests.contract.journal.test_delegate import delegating, results
from tests.contract.journal.test_dreams import (
    DREAMING,
    WEEK,
    dreamer,
    dreamt,
    last,
    person_of,
)


@pytest.mark.req("A13")
async def test_values_and_keys_are_cut_at_the_length_that_is_set(tmp_path: Path) -> None:
    settings = {"MEMORY__VALUE_CHARS": "20", "MEMORY__KEY_CHARS": "10"}
    async with open_rig(tmp_path, settings=settings) as rig:
        await rig.answer("hello")
        kept = await rig.core.memory.facts.set(
            await person_of(rig), "favourite colour", value="blue " * 20, source="operator"
        )

        assert len(kept.fact.value) <= 20
        assert len(kept.fact.key) <= 10


@pytest.mark.req("A13", "A10")
async def test_what_was_said_before_is_cut_there_too(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings={"MEMORY__VALUE_CHARS": "20"}) as rig:
        await rig.answer("one two three four five six seven")
        await rig.answer("/new")
        await rig.answer("hello")

        (_, earlier) = last(rig).system
        assert earlier.splitlines()[-1].endswith(": one two three four f")


@pytest.mark.req("A10")
async def test_a_dream_notes_as_many_gaps_as_are_wanted(tmp_path: Path) -> None:
    clock = ManualClock()
    script = dreamer(dreamt("Runs at dawn.", gaps=("how far", "with whom", "where")))
    settings = {**DREAMING, "MEMORY__DREAM_GAPS": "1"}
    async with open_rig(
        tmp_path, clock=clock, settings=settings, script=script, start=False
    ) as rig:
        await rig.core.lanes.start()
        await rig.answer("I was out for a run at five")
        clock.advance(WEEK)
        assert await rig.core.memory.worker.round() == 1

        assert '"gaps" give at most 1 short' in last(rig).system[0]
        found = await rig.store.dreams.of(await person_of(rig))
        assert found is not None
        assert found.gaps == ("how far",)


@pytest.mark.req("J14")
async def test_subagents_may_be_switched_off(tmp_path: Path) -> None:
    async with open_rig(tmp_path, own_tools=True, settings={"TOOLS__DELEGATE_DEPTH": "0"}) as rig:
        await rig.outcome(await rig.say(delegating("dig")))

        assert "0 deep at most" in results(rig)[0]


@pytest.mark.req("W27")
async def test_a_job_s_result_is_cut_where_the_settings_say(tmp_path: Path) -> None:
    settings = {"CRON__MAX_CHARS": "50", "CRON__SHOWN_CHARS": "10"}
    script = always("0123456789" * 6)
    async with open_cron(
        tmp_path, clock=at("2026-11-16 07:00"), script=script, settings=settings
    ) as rig:
        await schedule(rig, "every day at 9: tell", platform="push")
        await rig.as_time_passes(lambda: len(rig.push.texts("ann")) == 1)
        set_clock(rig, "2026-11-16 09:00")
        await look(rig)
        await rig.as_time_passes(lambda: len(rig.push.texts("ann")) == 2)

        assert rig.push.texts("ann")[1].startswith("0123456789\n\n… [cut here: 60 characters")
