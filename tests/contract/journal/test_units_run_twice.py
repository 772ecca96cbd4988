"""A unit of work may run twice before it is on disk: whatever a day brings, nothing shows of it."""

from pathlib import Path
from typing import Any

import pytest

from hermes.testing.memory_channel import MemoryChannel
from tests.contract.journal.rig import PUSH, open_rig
from tests.stores.opening import run_units_twice

Told = dict[str, Any]  # Any: what each question to the store gave, by its name


async def a_day(home: Path) -> Told:
    """Let people come, speak, be answered, start anew, send twice and be erased; tell what is kept."""
    push = MemoryChannel(PUSH, name="push")
    async with open_rig(home, push=push, search=True) as rig:
        first = await rig.say("hello", name="one", user_name="Ann")
        outcomes = [await rig.outcome(first)]
        assert await rig.say("hello", name="one", user_name="Ann") == first
        replies = [await rig.answer(text) for text in ("again", "/new", "once more", "/undo")]
        team = await rig.say("team", chat="room", user="bob", chat_type="group", platform="push")
        outcomes.append(await rig.outcome(team))
        await rig.as_time_passes(lambda: len(push.posts) == 1)
        gone = await rig.say("forget me", chat="eve")
        outcomes.append(await rig.outcome(gone))
        eve = (await rig.timeline(gone)).message
        assert eve is not None
        await rig.store.people.erase(eve.person_id, at=rig.clock.now())
    async with open_rig(home) as rig:
        return {
            "outcomes": outcomes,
            "replies": replies,
            "kinds": [await rig.kinds(one) for one in (first, team)],
            "paid": [
                [line["amount"] for line in (await rig.timeline(one)).ledger]
                for one in (first, team)
            ],
            "sent": [post.text for post in push.posts.values()],
            "more": await rig.answer("and now?"),
            "heard": [len(call.request.messages) for call in rig.model.calls],
        }


@pytest.mark.req("J2", "J19")
async def test_a_day_of_units_that_all_run_twice_is_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("once", "twice"):
        (tmp_path / name).mkdir()
    once = await a_day(tmp_path / "once")

    run_units_twice(monkeypatch.setattr)
    twice = await a_day(tmp_path / "twice")

    assert twice == once
