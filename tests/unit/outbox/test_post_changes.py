"""Posted messages that are changed later: questions that have ended, and notices that vanish."""

from collections.abc import Sequence

import msgspec
import pytest

from hermes.errors import DeliveryRejected, DeliveryUnknown, FailureClass, NotDelivered
from hermes.message.parts import TextPart
from hermes.outbox.channel_calls import ChannelCalls
from hermes.outbox.post_changes import PostChanges, ended_text
from hermes.outbox.rates import Rates
from hermes.ports.channel import Capabilities, Delivery, Target
from hermes.ports.offers import Offer, PostChange, PostedDelivery
from hermes.testing.manual_time import ManualTime
from hermes.testing.memory_channel import MemoryChannel

TARGET = Target(platform="memory", account="a", chat_id="c1")
END = PostChange(
    delivery="o_1",
    message_id="m_1",
    target=TARGET,
    platform_message_id="x1",
    kind="end",
    offer="b_1",
    text="Shall I?",
    ended="chosen",
    chosen="Approve",
)
GONE = PostChange(
    delivery="o_1", message_id="m_1", target=TARGET, platform_message_id="x1", kind="delete"
)
DOWN = NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE)
LOST = DeliveryUnknown("lost", FailureClass.NETWORK_TIMEOUT)


class Offers:
    """The changes that are due; fits `ports.offers.OfferStore`."""

    def __init__(self, *due: PostChange) -> None:
        self.due: Sequence[PostChange] = due

    async def get(self, offer_id: str) -> Offer | None:
        raise AssertionError(offer_id)

    async def posted(
        self, platform: str, chat_id: str, platform_message_id: str
    ) -> PostedDelivery | None:
        raise AssertionError(platform_message_id)

    async def changes(self, platform: str, now: float, *, limit: int) -> tuple[PostChange, ...]:
        return tuple(self.due[:limit])

    async def changed(self, change: PostChange) -> None:
        self.due = [one for one in self.due if one != change]


class Desk:
    """A platform with one message, and the changes of it."""

    def __init__(self, *due: PostChange, **able: object) -> None:
        self.time = ManualTime()
        wanted = Capabilities(delivery="push", **able)  # type: ignore[arg-type]
        self.channel = MemoryChannel(wanted)
        self.wire = ChannelCalls(self.channel, timeout_s=1.0)
        self.offers = Offers(*due)
        rates = Rates(self.time).of(self.channel)
        self.changes = PostChanges(self.offers, rates=rates, clock=self.time, sleep=self.time.sleep)

    async def post(self) -> None:
        parts = (TextPart("Shall I?"),)
        await self.channel.send(Delivery(id="o_1", target=TARGET, parts=parts, key="k"))

    async def make(self, *, after_s: float = 0.0) -> None:
        self.time.advance(after_s)
        await self.changes.make(self.wire)

    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.channel.calls if verb != "send"]


async def test_a_question_shows_its_end_once() -> None:
    desk = Desk(END, edit=True)
    await desk.post()
    await desk.make()
    await desk.make()
    assert desk.channel.texts("c1") == ["Shall I?\n\n→ Approve"]
    assert desk.verbs() == ["edit"]


@pytest.mark.parametrize("error", [DOWN, LOST])
async def test_what_failed_is_tried_again_later_and_not_for_ever(
    error: NotDelivered | DeliveryUnknown,
) -> None:
    desk = Desk(END, edit=True)
    await desk.post()
    desk.channel.fail("edit", *[error] * 5)
    await desk.make()
    await desk.make(after_s=1.0)
    assert (desk.verbs(), list(desk.offers.due)) == (["edit"], [END])
    for wait in (2.0, 10.0, 60.0):
        await desk.make(after_s=wait)
    assert (len(desk.verbs()), list(desk.offers.due)) == (4, [END])
    await desk.make(after_s=300.0)
    assert (len(desk.verbs()), list(desk.offers.due)) == (5, [])


async def test_what_the_platform_refuses_stays_as_it_is() -> None:
    desk = Desk(END, edit=True)
    await desk.post()
    desk.channel.fail("edit", DeliveryRejected("gone", FailureClass.INVALID_RECIPIENT))
    await desk.make()
    assert (desk.verbs(), list(desk.offers.due)) == (["edit"], [])


async def test_a_platform_is_asked_only_for_what_it_can() -> None:
    edits, deletes = Desk(END, GONE), Desk(GONE, delete=True)
    vanishes = Desk(GONE, delete=True, vanishes=True)
    for desk in (edits, deletes, vanishes):
        await desk.post()
        await desk.make()
    assert [desk.verbs() for desk in (edits, deletes, vanishes)] == [[], ["delete"], []]
    assert [list(desk.offers.due) for desk in (edits, deletes, vanishes)] == [[], [], []]


def test_a_question_that_was_sent_as_a_possible_repeat_still_says_so() -> None:
    change = msgspec.structs.replace(END, is_repeat=True)
    assert ended_text(change, Desk(max_chars=80).wire) == (
        "(possibly a repeat) Shall I?\n\n→ Approve"
    )


def test_of_a_question_that_fills_its_message_only_the_end_is_shown() -> None:
    desk = Desk(max_chars=19)
    assert ended_text(END, desk.wire) == "Shall I?\n\n→ Approve"
    assert ended_text(END, Desk(max_chars=18).wire) == "→ Approve"
