"""What a person's message shows of its way: seen, working, done; nothing waits for it."""

import asyncio

import pytest

from hermes.errors import FailureClass, NotDelivered
from hermes.message.event import MessageEvent, PressedChoice
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.outbox.rates import Rates
from hermes.outbox.reaction_marks import ReactionMarks
from hermes.ports.channel import Capabilities, ReactionName
from hermes.testing.manual_time import ManualTime, settle
from hermes.testing.memory_channel import MemoryChannel

ABLE = Capabilities(delivery="push", reactions=True)


def said(name: str = "x7", **more: object) -> MessageEvent:
    return MessageEvent(
        account="a",
        route="api",
        external_id=name,
        source=Source(platform="memory", chat_id="c1", user_id="ann"),
        parts=(TextPart("hello"),),
        at=1.0,
        **more,  # type: ignore[arg-type]
    )


def marks_on(channel: MemoryChannel, *, wanted: bool = True) -> ReactionMarks:
    rates = Rates(ManualTime())
    return ReactionMarks({"memory": channel}, rates=rates, wanted=lambda _: wanted, timeout_s=1.0)


async def test_a_message_shows_each_state() -> None:
    channel = MemoryChannel(ABLE)
    marks = marks_on(channel)
    names: tuple[ReactionName, ...] = ("seen", "working", "done")
    for name in names:
        marks.show(said(), name)
        await settle()
    assert channel.reactions == [("x7", "seen"), ("x7", "working"), ("x7", "done")]


async def test_while_a_platform_is_slow_only_the_latest_state_follows() -> None:
    channel = MemoryChannel(ABLE)
    marks = marks_on(channel)
    channel.hold("c1")
    marks.show(said(), "seen")
    await settle()
    marks.show(said(), "working")
    marks.show(said(), "done")
    channel.let_go("c1")
    await settle()
    assert channel.reactions == [("x7", "seen"), ("x7", "done")]


async def test_what_fails_is_left_and_the_next_state_is_shown() -> None:
    channel = MemoryChannel(ABLE)
    marks = marks_on(channel)
    channel.fail("react", NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE))
    marks.show(said(), "seen")
    await settle()
    marks.show(said(), "done")
    await settle()
    assert channel.reactions == [("x7", "done")]


@pytest.mark.parametrize(
    ("able", "wanted", "event"),
    [
        (ABLE, False, said()),
        (Capabilities(delivery="push"), True, said()),
        (ABLE, True, said(internal=True)),
        (ABLE, True, said(pressed=PressedChoice(value="b_1.0", message_id="x1"))),
    ],
)
async def test_nothing_is_shown_where_it_is_not_wanted_or_not_possible(
    able: Capabilities, wanted: bool, event: MessageEvent
) -> None:
    channel = MemoryChannel(able)
    marks_on(channel, wanted=wanted).show(event, "seen")
    await settle()
    assert channel.calls == []


async def test_a_stop_ends_what_is_under_way() -> None:
    channel = MemoryChannel(ABLE)
    marks = marks_on(channel)
    channel.hold("c1")
    marks.show(said(), "seen")
    await settle()
    await asyncio.wait_for(marks.stop(), 5.0)
    assert channel.reactions == []
