"""What is for the owner and for no chat reaches the web chat: messages of operators, and jobs of the terminal."""

from pathlib import Path

import pytest

from hermes.app.make_courier import make_send_operations
from hermes.app.make_schedule import make_cron_operations, make_schedules
from hermes.control.cron import NewJobOrder
from hermes.control.sends import SendOrder
from hermes.errors import NotFound
from hermes.message.ids import make_id
from hermes.message.owner import OWNER_CHANNELS, OWNER_CHAT
from tests.contract.journal.rig import Rig, open_rig, settings_of

LANE = "agent:main:web:dm:owner"


async def said(rig: Rig) -> list[str]:
    view = await rig.store.turns.view(LANE)
    messages = (await rig.store.transcripts.history(LANE, epoch=0, head=view.head)).messages
    return [message.text for message in messages]


async def test_an_operators_message_begins_the_owners_conversation(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        owner = await rig.store.owners.join(OWNER_CHANNELS, at=rig.clock.now())
        desk = make_send_operations(
            rig.store,
            settings_of(tmp_path, {}),
            home=tmp_path,
            clock=rig.clock,
            make_id=make_id,
            wake_lane=rig.core.lanes.wake,
        )
        first = await desk.send(SendOrder(to="web:owner", text="the backup is done", by="ops"))
        second = await desk.send(SendOrder(to="web:owner", text="and the second", by="ops"))
        await rig.until(lambda: rig.store.inbox.waiting() == 0)

        assert (first.state, first.sessions, second.sessions) == ("shown", (LANE,), (LANE,))
        assert await said(rig) == ["the backup is done", "and the second"]
        (listed,) = await rig.store.transcripts.sessions(platform="web", limit=9)
        assert owner is not None
        assert (listed["chat_id"], listed["person_id"]) == (OWNER_CHAT, owner.person_id)
        assert listed["title"] == "the backup is done"


async def test_without_an_owner_there_is_no_such_chat(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        desk = make_send_operations(
            rig.store, settings_of(tmp_path, {}), home=tmp_path, clock=rig.clock, make_id=make_id
        )
        with pytest.raises(NotFound, match="nobody has written in web:owner"):
            await desk.send(SendOrder(to="web:owner", text="hello", by="ops"))
        with pytest.raises(NotFound, match="nobody has written in web:other"):
            await desk.send(SendOrder(to="web:other", text="hello", by="ops"))


async def test_a_job_of_the_terminal_answers_in_the_owners_conversation(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, {})
    async with open_rig(tmp_path) as rig:
        await rig.store.owners.join(OWNER_CHANNELS, at=rig.clock.now())
        jobs = make_cron_operations(
            rig.store, settings, make_schedules(rig.store, settings, clock=rig.clock)
        )
        own = await jobs.add(NewJobOrder(user="rest:cli", when="every day at 9", text="news?"))
        await rig.store.users.unlink("rest", "cli", at=rig.clock.now())
        other = await jobs.add(NewJobOrder(user="rest:cli", when="every day at 9", text="news?"))

    assert (own.job.user, own.job.target) == ("web:owner", "origin")
    # a person who is not the owner keeps their own chat
    assert other.job.user == "rest:cli"
