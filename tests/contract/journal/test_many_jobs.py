"""Many sessions that pause at once are all learnt from in one go, not a page at a time."""

import asyncio
from pathlib import Path

import pytest

from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation, answer_by_text
from tests.contract.journal.rig import Rig, equals, open_rig

SESSIONS = 45
PAUSE_S = 10.0
# Far less than the pause between two looks for what is due.
SOON_S = 3.0
LEARNING = {
    "MEMORY__EXTRACT": "true",
    "MEMORY__EXTRACT_PAUSE_S": str(PAUSE_S),
    "ROUTING__CLOUD_SUMMARIES": "true",
}
FOUND = '{"facts":[{"key":"diet","value":"vegan","message":1}],"forget":[]}'


def script(seen: SeenConversation, number: int) -> ScriptedTurn:
    if seen.last_text.startswith("Known so far:"):
        return ScriptedTurn(text=FOUND)
    return answer_by_text(seen, number)


async def learnt(rig: Rig) -> int:
    people = [await rig.store.people.find("rest", f"user{number}") for number in range(SESSIONS)]
    return sum(
        [bool(await rig.store.facts.of(person.id)) for person in people if person is not None]
    )


@pytest.mark.req("A14", "J23")
async def test_what_is_due_is_done_however_much_it_is(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, settings=LEARNING, script=script) as rig:
        for number in range(SESSIONS):
            await rig.answer("I am vegan", chat=f"user{number}")
        worker = rig.core.memory.worker
        await worker.stop()
        clock.advance(PAUSE_S)

        worker.start()

        async with asyncio.timeout(SOON_S):
            await rig.until(equals(lambda: learnt(rig), SESSIONS))
