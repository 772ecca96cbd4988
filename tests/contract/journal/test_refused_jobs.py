"""A job whose model is not called for a while, because it failed before, waits without using up its attempts."""

from pathlib import Path

import pytest

from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import Script, ScriptedTurn, SeenConversation, answer_by_text
from tests.contract.journal.rig import Rig, open_rig
from tests.contract.journal.test_memory import LEARNING, PAUSE_S, known, learnt

DOWN = ScriptedTurn(fault="status", status=500)
HOUR_S = 3_600.0


def learner(*turns: ScriptedTurn) -> Script:
    """Return a model that talks, and does these things in turn when it is asked to learn."""
    left = iter(turns)

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        asked = seen.last_text.startswith("Known so far:")
        return next(left) if asked else answer_by_text(seen, number)

    return script


def opened_for(hours: float) -> dict[str, str]:
    """Return settings by which one failed call opens the breaker for so long."""
    rest = str(int(hours * HOUR_S))
    return {
        **LEARNING,
        "ROUTING__BREAKER__FAILURES": "1",
        "ROUTING__BREAKER__OPEN_S": rest,
        "ROUTING__BREAKER__MOST_OPEN_S": rest,
    }


async def fail_once(rig: Rig) -> int:
    """Let the first call of a learning job fail; return how many calls there were."""
    await rig.core.lanes.start()
    await rig.answer("I am vegan")
    rig.clock.advance(PAUSE_S)
    assert await rig.core.memory.worker.round() == 1
    return len(rig.model.calls)


@pytest.mark.req("A14", "P5")
async def test_refusals_by_an_open_breaker_use_up_no_attempt(tmp_path: Path) -> None:
    script = learner(DOWN, ScriptedTurn(text=learnt(diet="vegan")))
    async with open_rig(
        tmp_path, clock=ManualClock(), settings=opened_for(10), script=script, start=False
    ) as rig:
        calls = await fail_once(rig)
        for _ in range(9):
            rig.clock.advance(HOUR_S + 1)
            assert await rig.core.memory.worker.round() == 1
        refused = (len(rig.model.calls), await rig.store.jobs.parked())
        rig.clock.advance(HOUR_S + 1)
        assert await rig.core.memory.worker.round() == 1

        assert refused == (calls, 0)
        assert await known(rig) == {"diet": "vegan"}


@pytest.mark.req("A14", "P5")
async def test_a_job_that_is_refused_for_more_than_a_day_is_parked(tmp_path: Path) -> None:
    async with open_rig(
        tmp_path,
        clock=ManualClock(),
        settings=opened_for(24 * 30),
        script=learner(DOWN),
        start=False,
    ) as rig:
        calls = await fail_once(rig)
        rounds = 0
        while await rig.store.jobs.parked() == 0 and rounds < 100:
            rig.clock.advance(HOUR_S + 1)
            rounds += await rig.core.memory.worker.round()

        assert await rig.store.jobs.parked() == 1
        assert 24 < rounds < 40
        assert len(rig.model.calls) == calls
