"""Each message of a person opens the time in which they can be answered anew."""

import pytest

from hermes.channel_kit.reply_window import ReplyWindow
from hermes.errors import FailureClass
from hermes.testing.channel_state import memory_state
from hermes.testing.manual_time import ManualClock

pytestmark = pytest.mark.req("A28", "W10")
DAY_S = 86_400.0


async def test_a_window_closes_a_day_after_the_newest_message_also_in_the_next_process() -> None:
    clock, state = ManualClock(), memory_state()
    start = clock.now()
    window = ReplyWindow(state, platform="chat", lasts_s=DAY_S, clock=clock)
    await window.heard("c1", at=start)
    await window.heard("c1", at=start + 3600)
    await window.heard("c1", at=start)

    found = []
    for seconds in (DAY_S, 3599.0, 1.0):
        clock.advance(seconds)
        again = ReplyWindow(state, platform="chat", lasts_s=DAY_S, clock=clock)
        found.append((await again.is_closed("c1"), await again.is_closed("c2")))

    assert found == [(False, False), (False, False), (True, False)]


async def test_the_refusal_says_how_long_people_can_be_answered() -> None:
    window = ReplyWindow(memory_state(), platform="chat", lasts_s=DAY_S, clock=ManualClock())

    error = window.closed("Ask them to write.")

    assert (error.failure, str(error)) == (
        FailureClass.REPLY_CLOSED,
        "chat: a person can be written to for 24 h after their last message, and this is later; "
        "nothing was sent. Ask them to write.",
    )
