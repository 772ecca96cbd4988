"""What operators look at first: what the gateway did lately, and what needs them.

The series come from counts that the end of each turn writes, so they survive a restart and are true
for every process of a fleet. What needs attention names the order that deals with it.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

from hermes.calls.days import Calendar
from hermes.control.runtime import RuntimeHandles
from hermes.control.status import ChannelStatus, StatusReport
from hermes.message.outcome import Outcome
from hermes.ports.activity import NOT_TIMED, TurnCount, seconds_of
from hermes.ports.clock import Clock
from hermes.ports.spend import Meter
from hermes.ports.store import Store

Span = Literal["hour", "day", "month"]
# How long a span is, and the steps that it is shown in.
_SPANS: Final[dict[Span, tuple[int, int]]] = {
    "hour": (3_600, 300),
    "day": (86_400, 3_600),
    "month": (30 * 86_400, 86_400),
}
# More than this is not counted: a thousand needs an operator as much as two hundred.
_MOST_COUNTED: Final = 200
_NEAR_CAP: Final = 0.8
_TROUBLED: Final = frozenset({"fatal", "disconnected"})


class OverviewAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which time: the last hour, day or month."""

    span: Span = "day"


class OverviewPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A step of time that begins `at`; `p50_s` and `p95_s` are how long senders waited for a model.

    `turns` have ended, and `messages` with them; `errors` are turns that failed. A `cost_usd` of None
    is unknown, which is not free.
    """

    at: int
    turns: int = 0
    messages: int = 0
    errors: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    p50_s: float | None = None
    p95_s: float | None = None


class Attention(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that needs an operator: what, how many or which, and why."""

    kind: Literal[
        "dead_letters",
        "unknown_deliveries",
        "paused_channel",
        "channel",
        "resting_channel",
        "budget",
        "failed_jobs",
        "parked_work",
        "approvals",
        "kill_switch",
        "store",
        "hook_off",
    ]
    subject: str = ""
    count: int = 1
    note: str = ""


class OverviewReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the gateway did in a span of time, step by step, what it does now, and what needs someone."""

    span: Span
    step_s: int
    whole: OverviewPoint
    points: tuple[OverviewPoint, ...]
    attention: tuple[Attention, ...]
    status: StatusReport | None


class OverviewOperations:
    """Where the first page of the dashboard asks; `day_cap_usd` is the budget of one day."""

    def __init__(
        self,
        store: Store,
        handles: RuntimeHandles,
        *,
        calendar: Calendar,
        clock: Clock,
        day_cap_usd: float | None = None,
    ) -> None:
        self._store = store
        self._handles = handles
        self._calendar = calendar
        self._clock = clock
        self._day_cap_usd = day_cap_usd

    async def overview(self, ask: OverviewAsk) -> OverviewReport:
        """Return the series of a span of time, and what needs attention now."""
        length, step = _SPANS[ask.span]
        now = int(self._clock.now())
        first = (now - length) // step * step + step
        counts = await self._store.activity.counts(first, span_s=step)
        brief = self._handles.brief_status
        status = None if brief is None else await brief()
        return OverviewReport(
            span=ask.span,
            step_s=step,
            whole=_point(first, counts),
            points=points_of(counts, first=first, last=now, step=step),
            attention=tuple(await self._attention(status)),
            status=status,
        )

    async def _attention(self, status: StatusReport | None) -> list[Attention]:
        found = [*await self._letters(), *await self._jobs(), *await self._budget()]
        approvals = await self._store.approvals.open(self._clock.now(), limit=_MOST_COUNTED)
        if approvals:
            found.append(Attention(kind="approvals", count=len(approvals)))
        paused = await self._store.paused.all()
        found += [Attention(kind="paused_channel", subject=one.platform) for one in paused]
        return found if status is None else [*attention_of_status(status), *found]

    async def _letters(self) -> list[Attention]:
        letters = await self._store.dead_letters.page(platform="", limit=_MOST_COUNTED)
        unknown = sum(one.state.value == "unknown" for one in letters)
        dead = len(letters) - unknown
        found = [Attention(kind="dead_letters", count=dead)] if dead else []
        return [*found, *([Attention(kind="unknown_deliveries", count=unknown)] if unknown else [])]

    async def _jobs(self) -> list[Attention]:
        jobs = await self._store.cron.page(limit=_MOST_COUNTED)
        failed = sum(one.outcome == Outcome.FAILED for one in jobs)
        return [Attention(kind="failed_jobs", count=failed)] if failed else []

    async def _budget(self) -> list[Attention]:
        cap = self._day_cap_usd
        if not cap:
            return []
        day = self._calendar.day(self._clock.now())
        used = await self._store.spend.total(Meter("platform", "", "usd", day))
        note = f"{used:.2f} of {cap:.2f} dollars of today"
        return [Attention(kind="budget", note=note)] if used >= _NEAR_CAP * cap else []


def points_of(
    counts: Sequence[TurnCount], *, first: int, last: int, step: int
) -> tuple[OverviewPoint, ...]:
    """Return a point for each step of time, also for those in which nothing happened."""
    by_step: dict[int, list[TurnCount]] = {}
    for count in counts:
        by_step.setdefault(count.at, []).append(count)
    return tuple(_point(at, by_step.get(at, ())) for at in range(first, last + 1, step))


def _point(at: int, counts: Sequence[TurnCount]) -> OverviewPoint:
    is_unpriced = any(one.unpriced for one in counts)
    return OverviewPoint(
        at=at,
        turns=sum(one.turns for one in counts),
        messages=sum(one.messages for one in counts),
        errors=sum(one.turns for one in counts if one.outcome is Outcome.FAILED),
        tokens=sum(one.tokens for one in counts),
        cost_usd=None if is_unpriced else sum(one.cost_usd for one in counts),
        p50_s=quantile(counts, 0.5),
        p95_s=quantile(counts, 0.95),
    )


def quantile(counts: Iterable[TurnCount], share: float) -> float | None:
    """Return the time in which this share of the answers was there; None if a model gave none."""
    by_class: dict[int, int] = {}
    for one in counts:
        if one.slowness != NOT_TIMED:
            by_class[one.slowness] = by_class.get(one.slowness, 0) + one.turns
    left = share * sum(by_class.values())
    for slowness, turns in sorted(by_class.items()):
        left -= turns
        if left <= 0:
            return seconds_of(slowness)
    return None


def attention_of_status(status: StatusReport) -> list[Attention]:
    """Return what the status of the process says that needs an operator."""
    found = [one for channel in status.channels for one in _of_channel(channel)]
    store = status.store
    if store is not None and store.problem is not None:
        found.append(Attention(kind="store", note=store.problem))
    if status.kill_switch is not None:
        found.append(Attention(kind="kill_switch", note=status.kill_switch.reason))
    if status.memory is not None and status.memory.parked_jobs:
        found.append(Attention(kind="parked_work", count=status.memory.parked_jobs))
    return found + [Attention(kind="hook_off", subject=one) for one in status.hooks_off]


def _of_channel(channel: ChannelStatus) -> list[Attention]:
    if channel.state in _TROUBLED or channel.deaf:
        return [Attention(kind="channel", subject=channel.name, note=channel.note or "")]
    if channel.rests_until is not None:
        return [Attention(kind="resting_channel", subject=channel.name, count=channel.failures)]
    return []
