"""`end_if_over` alone: hooks hear of a session only if this process ended it."""

from dataclasses import dataclass, field

import pytest

from hermes.pipeline.session_ends import end_if_over
from hermes.ports.sessions import EndReason
from hermes.ports.turns import LaneView
from hermes.testing.manual_time import ManualClock
from tests.unit.pipeline.stage_parts import LANE, NOW, make_event, make_record


class Resets:
    """Says that every session is over."""

    async def reason(self, *_lane: str, **_when: object) -> EndReason:
        return "idle"


@dataclass
class Sessions:
    """Ends a session, unless another process already did."""

    is_first: bool

    async def end(self, *_lane: str, **_when: object) -> bool:
        return self.is_first


@dataclass
class Store:
    sessions: Sessions


@dataclass
class Hooks:
    ended: list[tuple[str, str]] = field(default_factory=list)

    def session_ended(self, lane: str, reason: str) -> None:
        self.ended.append((lane, reason))


@dataclass
class Services:
    store: Store
    hooks: Hooks | None
    resets: Resets = field(default_factory=Resets)
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))


def view() -> LaneView:
    message = make_record("m_1", make_event())
    return LaneView(lane=LANE, fence=1, epoch=0, head=2, message=message)


@pytest.mark.parametrize("is_first", [True, False])
async def test_hooks_hear_of_a_session_from_the_process_that_ended_it(is_first: bool) -> None:
    hooks = Hooks()
    services = Services(Store(Sessions(is_first)), hooks)

    # The type is wider than what is used here.
    assert await end_if_over(view(), services) is is_first  # type: ignore[arg-type]

    assert hooks.ended == ([(LANE, "idle")] if is_first else [])


async def test_a_session_ends_where_there_are_no_hooks() -> None:
    services = Services(Store(Sessions(is_first=True)), None)

    assert await end_if_over(view(), services)  # type: ignore[arg-type]
