"""Replies that may have arrived, over every channel: lost answers, none at all, a restart in between.

What becomes of them is what the channel's capabilities promise, no less and no more. Beside them those
that a revoked credential keeps back.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from hermes.control.why import WhyDelivery
from hermes.message.outcome import DeliveryState
from hermes.outbox.marks import REPEAT_PREFIX
from hermes.testing.stand_in import Fault, FaultKind
from tests.contract.channels.cases import CASES
from tests.contract.channels.house import Case, House

every = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
LOST: tuple[tuple[str, str, FaultKind], ...] = (
    ("chat-1", "user-1", "reset_after"),
    ("chat-2", "user-2", "hang"),
)
HELD = "left to the operator, because it may have arrived"
MARKED = "sent once more, marked as possibly a repeat"
WAITING = (DeliveryState.PENDING, DeliveryState.RETRY)


@pytest.fixture
async def house(case: Case, tmp_path: Path) -> AsyncIterator[House]:
    async with House(case, tmp_path / "home") as made:
        yield made
    assert made.platform.rejections == ()


async def is_as_promised(
    house: House, reply: WhyDelivery, text: str, *, chat: str, was_answered: bool = False
) -> None:
    """Check that a reply that may have arrived is settled as the channel says.

    `was_answered` where the channel itself had learnt that it arrived.
    """
    can, stands, then = house.can, house.texts(chat), [one.then for one in reply.tries]
    is_sure = can.key_window_s > 0 or (can.history and (can.history_whole or was_answered))
    # A platform that tells it a few times only may have done so before the gateway was gone.
    is_told = not was_answered or MARKED not in then
    is_sure |= house.case.proves == "always" or (house.case.proves == "while_up" and is_told)
    letters = [one["id"] for one in await house.dead_letters() if one["state"] == "unknown"]
    if is_sure:
        assert (stands, reply.state) == ([text], DeliveryState.SENT)
        assert MARKED not in then
    elif can.in_doubt == "hold":
        assert (stands, reply.state) == ([text], DeliveryState.UNKNOWN)
        assert then[-1] == HELD
        assert "answer was lost" in reply.how
        assert reply.id in letters
    else:
        assert (stands, reply.state) == ([text, REPEAT_PREFIX + text], DeliveryState.SENT)
        assert MARKED in then
    assert can.in_doubt == "hold" or not letters


@every
@pytest.mark.req("J17")
@pytest.mark.quality(
    "lost answers are marked", "lost answers are looked up", "transaction ids", "late proof"
)
async def test_a_send_whose_answer_is_lost_or_never_comes_is_settled_as_promised(
    house: House,
) -> None:
    for number, (chat, user, kind) in enumerate(LOST, start=1):
        house.platform.plan(Fault(kind=kind))
        await house.say("did it arrive", chat=chat, user=user)
        await house.until(partial(house.posts, chat))
        reply = (await house.settled(number))[-1]
        await is_as_promised(house, reply, "#1 did it arrive", chat=chat)


@every
@pytest.mark.req("J17", "W2")
@pytest.mark.quality("resume after restart")
async def test_a_restart_between_a_send_and_the_record_of_it_loses_and_doubles_nothing(
    house: House,
) -> None:
    await house.cut_off_sending("in the middle")

    saying = asyncio.create_task(house.say("meanwhile", chat="chat-2", user="user-2"))
    await house.start()
    await saying
    replies = await house.settled(2)
    await is_as_promised(house, replies[0], "#1 in the middle", chat="chat-1", was_answered=True)
    assert house.texts("chat-2") == ["#1 meanwhile"]


@every
@pytest.mark.req("A28", "W2")
@pytest.mark.quality("revoked token")
async def test_a_reply_under_a_revoked_credential_arrives_under_a_good_one(house: House) -> None:
    await house.say("slowly [[slow:0.3]]")
    house.platform.revoke()
    if house.case.is_machine:
        # Its secrets are of single routes: the channel goes on, and the operator says what follows.
        (letter,) = await house.until_letters()
        assert (letter["state"], letter["failure"]) == ("dead", "unauthorized")
        path, body = "deadletters/replay", {"id": letter["id"]}
    else:
        assert house.case.platform in await house.stands("fatal")
        (reply,) = await house.answered(1)
        assert reply.state in WAITING
        path, body = "channels/resume", {"platform": house.case.platform}
    assert house.posts() == []

    house.platform.restore()
    await house.order(path, **body)
    (reply,) = await house.settled(1)
    assert reply.state is DeliveryState.SENT
    assert house.texts() == ["#1 slowly [[slow:0.3]]"]
