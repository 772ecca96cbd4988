"""Long polls: the cursor moves behind what is kept, whatever fails in between."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from hermes.channel_kit.long_poll import KeptCursor, LongPoll, PolledEvent, PollPage
from hermes.channel_kit.memory_state import MemoryChannelState
from hermes.errors import (
    DeliveryRejected,
    FailureClass,
    HermesError,
    NotDelivered,
    Overloaded,
    StoreError,
)
from hermes.ports.channel_state import PlatformState

pytestmark = pytest.mark.req("J1")


class Stopped(HermesError):
    """The script of the platform has ended."""


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds


class Platform:
    """Answers polls as it was told; a batch may also be an error."""

    def __init__(
        self,
        *answers: PollPage[str] | HermesError,
        state: PlatformState | None = None,
        renewed: str | None = None,
        answer_s: float = 1.0,
        failures: Mapping[str, Sequence[HermesError]] | None = None,
    ) -> None:
        self.answers = list(answers)
        self.answer_s = answer_s
        self.failures = {name: list(planned) for name, planned in (failures or {}).items()}
        self.asked: list[tuple[str | None, float]] = []
        self.kept: list[str] = []
        self.naps: list[float] = []
        self.renewed = renewed
        self.clock = Clock()
        self.polls = LongPoll(
            self._fetch,
            self._take,
            platform="demo",
            poll_s=30.0,
            clock=self.clock,
            cursor=None if state is None else KeptCursor(state),
            renew=None if renewed is None else self._renew,
            sleep=self._sleep,
        )

    async def run(self) -> HermesError:
        """Poll to the end of the script; return why the polls have ended."""
        with pytest.raises(HermesError) as caught:
            await self.polls.run()
        return caught.value

    async def _fetch(self, cursor: str | None, poll_s: float) -> PollPage[str]:
        self.asked.append((cursor, poll_s))
        self.clock.seconds += self.answer_s
        answer = self.answers.pop(0) if self.answers else Stopped("the end")
        if isinstance(answer, HermesError):
            raise answer
        return answer

    async def _take(self, event: str) -> None:
        await asyncio.sleep(0)
        if planned := self.failures.get(event):
            raise planned.pop(0)
        self.kept.append(event)

    async def _renew(self) -> str | None:
        return self.renewed

    async def _sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        await asyncio.sleep(0)


def batch(*names: str, cursor: str | None, chats: str = "") -> PollPage[str]:
    """Return events whose names are their cursors, in chats named by letters."""
    events = tuple(
        PolledEvent(event=name, chat=chats[number : number + 1], cursor=name)
        for number, name in enumerate(names)
    )
    return PollPage(events=events, cursor=cursor)


def network(text: str = "cut") -> NotDelivered:
    return NotDelivered(text, FailureClass.NETWORK_TIMEOUT)


async def test_the_cursor_moves_behind_what_was_taken() -> None:
    demo = Platform(batch("1", "2", cursor="3"), batch("3", cursor="4"))

    assert isinstance(await demo.run(), Stopped)

    assert demo.kept == ["1", "2", "3"]
    assert [cursor for cursor, _ in demo.asked] == [None, "3", "4"]


async def test_it_stops_in_front_of_what_was_not_taken_and_other_chats_go_on() -> None:
    demo = Platform(
        batch("1", "2", "3", "4", cursor="5", chats="aaba"),
        batch("2", "3", "4", cursor="5", chats="aba"),
        failures={"2": [Overloaded("full", retry_after=2.0)]},
    )

    await demo.run()

    # What came behind in the same chat waits; what another chat wrote is told twice.
    assert demo.kept == ["1", "3", "2", "3", "4"]
    assert [cursor for cursor, _ in demo.asked] == [None, "2", "5"]
    assert demo.naps == [2.0]


async def test_a_batch_that_can_only_be_repeated_whole_leaves_the_cursor() -> None:
    whole = PollPage(events=(PolledEvent(event="all"),), cursor="next")
    full = [StoreError("disk"), StoreError("disk")]
    demo = Platform(whole, whole, whole, failures={"all": full})

    await demo.run()

    assert demo.kept == ["all"]
    assert [cursor for cursor, _ in demo.asked] == [None, None, None, "next"]
    assert demo.naps == [1.0, 2.0]


async def test_a_cursor_survives_a_restart_and_never_runs_ahead() -> None:
    states = MemoryChannelState()
    state = PlatformState(states, "demo")
    first = Platform(
        batch("1", cursor="2"),
        batch("2", cursor="3"),
        state=state,
        failures={"2": [Stopped("killed")]},
    )
    await first.run()

    second = Platform(batch("2", cursor="3"), state=PlatformState(states, "demo"))
    await second.run()

    assert first.kept + second.kept == ["1", "2"]
    assert [cursor for cursor, _ in second.asked] == ["2", "3"]


async def test_a_few_failures_are_waited_for_and_then_the_connection_is_lost() -> None:
    few = [network(), NotDelivered("slow", FailureClass.RATE_LIMITED, retry_after=7.0)]
    demo = Platform(*few, batch("1", cursor="2"), *(network(f"cut {n}") for n in range(4)))

    lost = await demo.run()

    assert str(lost) == "cut 3"
    assert demo.kept == ["1"]
    assert demo.naps == [0.2, 7.0, 0.2, 0.5, 1.0]


async def test_a_revoked_credential_is_not_tried_again() -> None:
    revoked = DeliveryRejected("revoked", FailureClass.UNAUTHORIZED, credential=True)
    demo = Platform(revoked, batch("1", cursor="2"))

    assert await demo.run() is revoked
    assert demo.naps == []


async def test_a_cursor_that_the_platform_refuses_is_renewed() -> None:
    refused = DeliveryRejected("unknown position", FailureClass.REJECTED)
    demo = Platform(batch("1", cursor="2"), refused, batch("9", cursor="10"), renewed="8")

    await demo.run()

    assert demo.kept == ["1", "9"]
    assert [cursor for cursor, _ in demo.asked] == [None, "2", "8", "10"]


async def test_the_platform_says_how_long_a_poll_lasts_within_reason() -> None:
    demo = Platform(PollPage(poll_s=50.0), PollPage(poll_s=1e9), PollPage(poll_s=-1.0))

    await demo.run()

    assert [poll_s for _, poll_s in demo.asked] == [30.0, 50.0, 300.0, 1.0]


async def test_a_platform_that_does_not_hold_a_poll_is_not_asked_in_a_circle() -> None:
    demo = Platform(PollPage(), PollPage(), answer_s=0.001)

    await demo.run()

    assert demo.naps == [0.5, 0.5]


async def test_silence_is_reported_after_a_poll_and_its_grace() -> None:
    demo = Platform(batch("1", cursor="2"))
    await demo.run()

    demo.clock.seconds += 58.0
    demo.polls.check_hears()
    demo.clock.seconds += 5.0

    with pytest.raises(NotDelivered, match="no poll has been answered for 64 s"):
        demo.polls.check_hears()
