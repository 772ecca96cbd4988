"""W23, W24: a conversation that is over ends once, by its next message or by the watcher."""

from pathlib import Path

import pytest

from hermes.ports.channel import Capabilities
from hermes.ports.tool import ToolTraits
from hermes.schedule.session_watch import SessionWatch
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, RunTool, open_rig

DAY = 86_400.0
IDLE = {"SESSIONS__RESET__MODE": "idle", "TIME_ZONE": "UTC"}
DAILY = {"SESSIONS__RESET__MODE": "daily", "TIME_ZONE": "UTC"}
NEVER = {"SESSIONS__RESET__MODE": "none"}


def watch(rig: Rig, ended: list[tuple[str, str]]) -> SessionWatch:
    return SessionWatch(
        rig.store.sessions,
        rig.core.sessions.resets,
        platforms=("rest", "push"),
        ended=lambda lane, reason: ended.append((lane, reason)),
        clock=rig.clock,
        every_s=60.0,
    )


def back(_seen: SeenConversation, _number: int) -> ScriptedTurn:
    return ScriptedTurn(text="back")


async def notices(rig: Rig, message_id: str) -> tuple[str, ...]:
    result = await rig.store.inbox.result(message_id)
    assert result is not None
    return result.notices


async def told(rig: Rig, text: str, *, platform: str = "rest") -> tuple[str, ...]:
    message_id = await rig.say(text, platform=platform)
    assert await rig.outcome(message_id) == "answered"
    return await notices(rig, message_id)


def seen(rig: Rig) -> list[str]:
    """Return what the model was shown with the last call."""
    return [message.text for message in rig.model.calls[-1].request.messages]


@pytest.mark.req("W23")
async def test_after_a_long_silence_a_message_starts_afresh_and_says_why(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=IDLE) as rig:
        assert await told(rig, "my cat is Tom") == ()
        rig.clock.advance(DAY - 1)
        assert await told(rig, "still there?") == ()
        assert "my cat is Tom" in seen(rig)
        rig.clock.advance(DAY + 1)

        (notice,) = await told(rig, "hello again")

        assert "quiet" in notice
        assert seen(rig) == ["hello again"]
        assert await told(rig, "and now?") == ()
        assert seen(rig)[0] == "hello again"


@pytest.mark.req("W23")
async def test_the_day_ends_at_four_even_in_the_middle_of_a_talk(tmp_path: Path) -> None:
    four = 1_700_020_800.0  # 04:00 UTC
    async with open_rig(tmp_path, settings=DAILY, clock=ManualClock(four - 10)) as rig:
        assert await told(rig, "one") == ()
        rig.clock.advance(20)

        (notice,) = await told(rig, "two")

        assert "new day" in notice
        assert seen(rig) == ["two"]


@pytest.mark.req("W23")
async def test_where_nothing_ends_a_conversation_it_goes_on(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await told(rig, "one")
        rig.clock.advance(400 * DAY)

        assert await told(rig, "two") == ()
        assert seen(rig)[0] == "one"


@pytest.mark.req("W23", "J15")
async def test_on_a_chat_platform_the_reason_comes_before_the_reply(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=IDLE) as rig:
        await told(rig, "one", platform="push")
        await rig.until(lambda: len(rig.push.texts("ann")) == 1)
        rig.clock.advance(2 * DAY)
        await told(rig, "two", platform="push")

        await rig.until(lambda: len(rig.push.texts("ann")) == 3)
        assert "quiet" in rig.push.texts("ann")[1]
        assert rig.push.texts("ann")[2].endswith("two")


@pytest.mark.req("W23", "J10")
async def test_a_crash_after_the_end_does_not_lose_the_reason(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, settings=IDLE, clock=clock) as rig:
        await told(rig, "one")
        clock.advance(2 * DAY)
        stuck = await rig.say("[[hang]]")
        await rig.until(lambda: len(rig.model.calls) == 2)
    async with open_rig(tmp_path, settings=IDLE, clock=clock, script=back) as rig:
        assert await rig.outcome(stuck) == "answered"

        (notice,) = await notices(rig, stuck)
        assert "quiet" in notice
        assert seen(rig) == ["[[hang]]"]
        assert (await rig.store.turns.view(rig.lane())).epoch == 1


@pytest.mark.req("W24")
async def test_the_watcher_ends_each_session_once(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=IDLE) as rig:
        for chat in ("ann", "bob"):
            await rig.answer("hello", chat=chat)
        ended: list[tuple[str, str]] = []
        watcher = watch(rig, ended)
        assert await watcher.round() == 0
        rig.clock.advance(DAY + 1)
        await rig.answer("I am here", chat="bob")

        assert await watcher.round() == 1
        assert await watcher.round() == 0
        assert await watch(rig, ended).round() == 0

        assert ended == [(rig.lane("ann"), "idle")]
        (notice,) = await told(rig, "hello again")
        assert "quiet" in notice
        assert seen(rig) == ["hello again"]
        assert (await rig.store.turns.view(rig.lane("ann"))).epoch == 1


@pytest.mark.req("W24")
async def test_a_session_that_was_used_again_ends_again(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=IDLE) as rig:
        ended: list[tuple[str, str]] = []
        watcher = watch(rig, ended)
        for _ in range(3):
            await rig.answer("hello")
            rig.clock.advance(DAY + 1)
            assert await watcher.round() == 1

        assert len(ended) == 3
        assert (await rig.store.turns.view(rig.lane())).epoch == 3


@pytest.mark.req("W24")
async def test_many_sessions_end_in_one_round(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=IDLE) as rig:
        for number in range(520):
            await rig.say("hi", chat=f"c{number}")
        await rig.until(lambda: rig.store.inbox.waiting() == 0)
        rig.clock.advance(DAY + 1)
        ended: list[tuple[str, str]] = []

        assert await watch(rig, ended).round() == 520
        assert len(set(ended)) == 520


@pytest.mark.req("W23", "W24")
async def test_a_session_with_work_under_way_does_not_end(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=IDLE) as rig:
        await rig.answer("one")
        await rig.say("[[hang]]")
        await rig.until(lambda: len(rig.model.calls) == 2)
        rig.clock.advance(3 * DAY)
        ended: list[tuple[str, str]] = []

        assert await watch(rig, ended).round() == 0
        assert (await rig.store.turns.view(rig.lane())).epoch == 0


@pytest.mark.req("W23", "J9")
async def test_a_session_that_waits_for_a_yes_does_not_end(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ToolTraits(needs_approval=True))
    async with open_rig(
        tmp_path, settings={**IDLE, "APPROVALS__EXPIRE_AFTER_S": "9000000"}, tools=(tool,)
    ) as rig:
        message_id = await rig.say("[[tool:pay {}]]")
        assert await rig.outcome(message_id) == "parked"
        rig.clock.advance(3 * DAY)

        assert await watch(rig, []).round() == 0


@pytest.mark.req("W23")
async def test_a_clock_that_was_set_back_ends_nothing(tmp_path: Path) -> None:
    clock = ManualClock(1_700_000_000.0)
    async with open_rig(tmp_path, settings=IDLE, clock=clock) as rig:
        await rig.answer("one")
        clock.advance(-3 * DAY)

        assert await watch(rig, []).round() == 0
        assert await told(rig, "two") == ()
        assert seen(rig)[0] == "one"


@pytest.mark.req("W23", "W24")
@pytest.mark.parametrize(("senders", "ended"), [(("*",), []), (("ann",), ["bob"])])
async def test_no_clock_ends_the_sessions_of_lasting_senders(
    tmp_path: Path, senders: tuple[str, ...], ended: list[str]
) -> None:
    lasting = Capabilities(delivery="push", unknown="allow", lasting_senders=senders)
    push = MemoryChannel(lasting, name="push")
    async with open_rig(tmp_path, settings=IDLE, push=push) as rig:
        for chat in ("ann", "bob"):
            await rig.answer("one", chat=chat, platform="push")
        rig.clock.advance(3 * DAY)
        found: list[tuple[str, str]] = []

        await watch(rig, found).round()

        assert [lane for lane, _ in found] == [rig.lane(chat, "push") for chat in ended]
        assert await told(rig, "two", platform="push") == ()
        assert seen(rig)[0] == "one"
