"""Texts that a person sends close behind each other, to a real gateway: one answer, and no "(stopped)"."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.testing.stand_in import PersonMessage
from tests.system.live import run_command
from tests.system.test_telegram import Town, town, until

# The model takes its time over it, and has shown nothing yet.
SLOW = "what do you think [[slow:1.5]]"


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Town]:
    async with town(tmp_path) as made:
        yield made


@pytest.mark.req("W16", "W20", "J13")
@pytest.mark.parametrize("transport", ["off", "edit", "draft"])
async def test_texts_a_tenth_of_a_second_apart_get_one_answer(here: Town, transport: str) -> None:
    async with here.gateway(HERMES_STREAMING__TRANSPORT=transport) as live:
        said = []
        for text in (SLOW, "of the colour blue", "for a door?"):
            said.append(await here.telegram.say(PersonMessage(text=text)))
            await asyncio.sleep(0.1)
        await until(lambda: bool(here.texts()), seen=here.texts)
        await here.telegram.say(PersonMessage(text="thanks"))
        await until(lambda: len(here.texts()) == 2, seen=here.texts)
        await live.settled()
        stories = [(await run_command(live.home, "why", one)).stdout for one in said]

    assert "(stopped)" not in "".join(here.texts())
    assert here.texts()[0].endswith("for a door?")
    assert [one.split()[0] for one in stories] == ["Answered", "Merged", "Merged"]
    assert "1 credit captured" in stories[0]
