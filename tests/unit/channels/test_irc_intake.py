"""What one person writes line by line is one message; nobody else's lines, and no command, are in it."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from hermes.contrib.irc.intake import MOST_WAITING, IrcIntake
from hermes.errors import HermesError, RateLimited, StoreError
from hermes.message.event import NO_RAW, MessageEvent
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.ports.channel import Acceptance
from hermes.testing.manual_time import ManualTime, settle
from tests.unit.channels.irc_rig import until

pytestmark = pytest.mark.req("W10", "W11")


class Desk:
    """An intake whose time passes by hand, and what was handed in."""

    def __init__(self, gather_s: float) -> None:
        self.time = ManualTime()
        self.intake = IrcIntake(self.time, sleep=self.time.sleep, gather_s=gather_s)
        self.kept: list[MessageEvent] = []
        self.running = asyncio.create_task(self.intake.run(self.accept))
        self.said = 0
        self.problem: HermesError | None = None

    async def accept(self, event: MessageEvent) -> Acceptance:
        if self.problem is not None:
            raise self.problem
        if event.source.user_id == "mallory":
            raise RateLimited("too many are waiting", 3600.0)
        self.kept.append(event)
        return Acceptance(message_id=event.external_id)

    async def say(self, text: str, *, by: str = "ada", chat: str = "#lab", **more: bool) -> None:
        self.said += 1
        event = MessageEvent(
            account="default",
            route="connection",
            external_id=f"e{self.said}",
            source=Source(platform="irc", chat_id=chat, chat_type="channel", user_id=by),
            parts=(TextPart(text),),
            at=self.time.now(),
            type="command" if text.startswith("/") else "text",
            raw=NO_RAW,
            addressed=more.get("addressed", True),
        )
        await self.intake.put(event)
        await settle()

    async def pass_by(self, seconds: float) -> None:
        await self.time.pass_by(seconds)
        await settle()

    @property
    def texts(self) -> list[str]:
        return [event.text for event in self.kept]


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    made = Desk(1.0)
    yield made
    made.running.cancel()
    made.intake.close_all()


async def test_lines_that_come_right_after_each_other_are_one_message(desk: Desk) -> None:
    for line in ("def f():", "    return 1", "f()"):
        await desk.say(line)
        await desk.pass_by(0.6)
    assert desk.texts == []
    await desk.pass_by(1.0)
    assert desk.texts == ["def f():\n    return 1\nf()"]
    assert desk.kept[0].external_id == "e1"


async def test_what_comes_later_is_another_message(desk: Desk) -> None:
    await desk.say("one")
    await desk.pass_by(1.1)
    await desk.say("two")
    await desk.pass_by(1.1)
    assert desk.texts == ["one", "two"]


async def test_everybody_has_their_own(desk: Desk) -> None:
    await desk.say("hermes, look", addressed=True)
    await desk.say("me too", by="bob", addressed=False)
    await desk.say("at this", addressed=False)
    await desk.say("elsewhere", chat="#tea")
    await desk.pass_by(1.1)
    await desk.pass_by(1.1)
    told = {event.text: event.addressed for event in desk.kept}
    assert told == {"hermes, look\nat this": True, "me too": False, "elsewhere": True}


async def test_a_command_waits_for_nothing_and_overtakes_nothing(desk: Desk) -> None:
    await desk.say("one")
    await desk.say("/stop")
    assert desk.texts == ["one", "/stop"]


async def test_too_much_for_one_message_goes_into_the_next(desk: Desk) -> None:
    for _ in range(3):
        await desk.say("x" * 15_000)
    await desk.pass_by(1.1)
    await desk.pass_by(1.1)
    assert [len(text) for text in desk.texts] == [30_001, 15_000]


async def test_what_was_heard_last_is_handed_in_when_it_ends(desk: Desk) -> None:
    await desk.say("one")
    desk.intake.close_all()
    await desk.intake.drain()
    assert desk.texts == ["one"]


async def test_nothing_is_gathered_where_that_is_off() -> None:
    desk = Desk(0.0)
    await desk.say("one")
    await desk.say("two")
    assert desk.texts == ["one", "two"]
    desk.running.cancel()


@pytest.mark.req("A28")
async def test_a_sender_with_too_many_waiting_holds_back_nobody_else() -> None:
    desk = Desk(0.0)
    for _ in range(60):
        await desk.say("one more", by="mallory")
    await desk.say("/stop", by="ann")
    assert desk.texts == ["/stop"]
    assert desk.intake.waiting == 0
    desk.running.cancel()


@pytest.mark.req("J1", "W2")
async def test_while_too_much_waits_nothing_more_is_taken_and_nothing_is_lost() -> None:
    desk = Desk(0.0)
    desk.problem = StoreError("disk I/O error")
    texts = [f"line {number}" for number in range(MOST_WAITING + 20)]

    async def say_all() -> None:
        for text in texts:
            await desk.say(text)

    saying = asyncio.create_task(say_all())
    await until(lambda: desk.intake.waiting >= MOST_WAITING)
    await desk.pass_by(3600.0)
    assert (desk.intake.waiting, desk.said, desk.texts) == (MOST_WAITING, MOST_WAITING + 1, [])

    desk.problem = None
    await desk.pass_by(30.0)
    await saying
    await settle()
    assert desk.texts == texts
    desk.running.cancel()
