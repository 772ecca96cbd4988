"""J13: what somebody says while a turn of another person runs waits for a turn of its own, in order."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from hermes.errors import GuardFailed
from hermes.ports.tool import ToolTraits
from hermes.ports.turns import Begin
from hermes.testing.manual_time import ManualClock
from tests.contract.journal.rig import Rig, RunTool, open_rig
from tests.contract.journal.test_photo_bursts import ledger

STEERING = {"BUSY__PLATFORMS__REST": "steer", "BUSY__PLATFORMS__PUSH": "steer"}
HELD_BACK = "/steer joins only work for yourself"


async def say(rig: Rig, text: str, *, user: str, platform: str = "rest") -> str:
    return await rig.say(
        text, platform=platform, chat="room", user=user, chat_type="group", thread="7"
    )


def asked(rig: Rig) -> list[str]:
    """Return what each model call was to answer."""
    return [call.request.messages[-1].text for call in rig.model.calls]


async def notices(rig: Rig, message_id: str) -> list[bool]:
    """Return of each notice beside a reply whether it tells of a /steer that had to wait."""
    result = await rig.store.inbox.result(message_id)
    assert result is not None
    return [HELD_BACK in notice for notice in result.notices]


@pytest.mark.req("J13", "W16")
@pytest.mark.parametrize("platform", ["rest", "push"])
async def test_everybody_steers_their_own_turn_and_pays_for_their_own(
    tmp_path: Path, platform: str
) -> None:
    release = asyncio.Event()
    tool = RunTool("look", lambda _: release.wait())
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        host = await say(rig, "please [[tool:look]]", user="ann", platform=platform)
        await rig.until(lambda: tool.runs == 1)
        bobs = await say(rig, "/steer bob wants more", user="bob", platform=platform)
        anns = await say(rig, "/steer ann wants less", user="ann", platform=platform)
        more = await say(rig, "/queue and bob again", user="bob", platform=platform)
        release.set()

        sent = (host, bobs, anns, more)
        assert [await rig.outcome(one) for one in sent] == [
            "answered", "answered", "merged", "answered",
        ]  # fmt: skip
        assert asked(rig) == [
            "please [[tool:look]]", "ann wants less", "bob wants more", "and bob again",
        ]  # fmt: skip
        assert [await ledger(rig, one) for one in sent] == [
            [("capture", -1)], [("capture", -1)], [], [("capture", -1)],
        ]  # fmt: skip


@pytest.mark.req("W18")
async def test_whoever_steers_the_turn_of_another_hears_that_it_waited(tmp_path: Path) -> None:
    release = asyncio.Event()
    tool = RunTool("look", lambda _: release.wait())
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        host = await say(rig, "please [[tool:look]]", user="ann", platform="push")
        await rig.until(lambda: tool.runs == 1)
        steered = await say(rig, "/steer bob here", user="bob", platform="push")
        queued = await say(rig, "/queue bob again", user="bob", platform="push")
        release.set()
        for one in (host, steered, queued):
            await rig.outcome(one)
        idle = await say(rig, "/steer nothing runs", user="bob", platform="push")
        await rig.outcome(idle)

        told = [await notices(rig, one) for one in (host, steered, queued, idle)]
        assert told == [[], [True], [], []]
        await rig.until(lambda: sum(HELD_BACK in text for text in rig.push.texts("room")) == 1)


@pytest.mark.req("J13", "J8")
async def test_what_others_say_does_not_join_a_turn_that_goes_on_after_a_crash(
    tmp_path: Path,
) -> None:
    clock, again = ManualClock(), ToolTraits(idempotent=True)
    hanging = RunTool("look", lambda _: asyncio.Event().wait(), traits=again)
    async with open_rig(tmp_path, clock=clock, tools=(hanging,), settings=STEERING) as rig:
        host = await say(rig, "please [[tool:look]]", user="ann")
        await rig.until(lambda: hanging.runs == 1)
        bobs = await say(rig, "bobs word", user="bob")

    tool = RunTool("look", traits=again)
    async with open_rig(tmp_path, clock=clock, tools=(tool,), settings=STEERING) as rig:
        assert [await rig.outcome(one) for one in (host, bobs)] == ["answered", "answered"]
        assert tool.runs == 1
        kinds = {step.kind for step in (await rig.timeline(host)).steps}
        assert kinds == {"prepared", "model", "tool"}


@pytest.mark.req("W18")
@pytest.mark.parametrize("command", ["steer", "queue"])
async def test_whoever_may_not_use_a_command_cannot_speak_into_a_turn_with_it(
    tmp_path: Path, command: str
) -> None:
    release = asyncio.Event()
    tool = RunTool("look", lambda _: release.wait())
    rules = {"ACCESS__PLATFORMS__REST__COMMANDS__GROUP__ADMINS": '["ann"]'}
    async with open_rig(tmp_path, tools=(tool,), settings=rules) as rig:
        host = await say(rig, "please [[tool:look]]", user="ann")
        await rig.until(lambda: tool.runs == 1)
        refused = await say(rig, f"/{command} bobs word", user="bob")
        assert await rig.outcome(refused) == "refused"
        allowed = await say(rig, f"/{command} anns word", user="ann")
        release.set()
        await rig.outcome(host)
        await rig.outcome(allowed)

        result = await rig.store.inbox.result(refused)
        assert result is not None
        assert result.text.startswith(f"You may not use /{command} here.")
        assert "anns word" in asked(rig)
        assert not any("bobs word" in text for text in asked(rig))


@pytest.mark.req("J13", "J4")
async def test_the_store_lets_no_message_join_a_turn_of_another_person(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        host = await say(rig, "hello", user="ann")
        bobs = await say(rig, "bobs word", user="bob")
        lane = "agent:main:rest:thread:room:7"
        view = await rig.store.turns.view(lane)
        assert view.message is not None
        begin = Begin(
            lane=lane,
            owner="test",
            fence=view.fence,
            head=view.head,
            message_id=host,
            person_id=view.message.person_id,
            at=rig.clock.now(),
            claims=(bobs,),
        )

        with pytest.raises(GuardFailed, match=bobs):
            await rig.store.turns.begin(begin)

        await rig.store.turns.begin(msgspec.structs.replace(begin, claims=()))
        assert [one.id for one in await rig.store.turns.waiting(lane)] == [bobs]


@pytest.mark.req("W18")
async def test_retry_answers_the_last_message_only_to_whoever_wrote_it(tmp_path: Path) -> None:
    people: list[str] = []
    tool = RunTool("look", lambda context: people.append(context.person_id))
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        ann = await say(rig, "please [[tool:look]]", user="ann")
        await rig.outcome(ann)
        bobs = await say(rig, "/retry", user="bob")
        assert await rig.outcome(bobs) == "refused"
        again = await say(rig, "/retry", user="ann")
        assert await rig.outcome(again) == "answered"

        result, record = await rig.store.inbox.result(bobs), await rig.store.inbox.get(ann)
        assert result is not None
        assert record is not None
        assert "somebody else's" in result.text
        assert people == [record.person_id, record.person_id]
