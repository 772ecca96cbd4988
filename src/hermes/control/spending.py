"""What model calls cost, and the switch that stops them all: asked and set by the operator.

The ledger behind the store port is the truth of both.
"""

import re
from calendar import monthrange
from collections.abc import Iterable, Mapping
from datetime import date, timedelta

import msgspec
import structlog

from hermes.calls.days import Calendar
from hermes.errors import BadRequest
from hermes.ports.clock import Clock
from hermes.ports.keys import CallerKey, KeyStore
from hermes.ports.request_numbers import WholeNumber
from hermes.ports.spend import CostBy, CostRow, KillSwitch, SpendStore

_log = structlog.get_logger(__name__)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MONTH = re.compile(r"(\d{4})-(\d\d)", re.ASCII)
_USUAL_DAYS = 30
_MOST_DAYS = 36_500


class SwitchOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The wish to stop every model call, or to release them; by whom and why."""

    is_on: bool
    by: str = ""
    reason: str = ""


class SwitchReport(KillSwitch, frozen=True, kw_only=True):
    """The state of the kill switch; `changed` says whether the order before this did anything."""

    changed: bool = False


class CostAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whose costs, over which days: the last ones, a month, or from one to another."""

    by: CostBy = "model"
    days: WholeNumber | None = None
    month: str | None = None
    first_day: str | None = None
    last_day: str | None = None


class CostLine(CostRow, frozen=True, kw_only=True):
    """A line of the report; `label` is what people call the thing that `name` names."""

    label: str = ""


class CostsReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was spent on those days and by whom, the most expensive first; days are in order."""

    by: CostBy
    first_day: str
    last_day: str
    total: CostRow
    rows: tuple[CostLine, ...] = ()


class SpendingOperations:
    """Where operators' orders about money arrive."""

    def __init__(
        self, spend: SpendStore, keys: KeyStore, *, calendar: Calendar, clock: Clock
    ) -> None:
        self._spend = spend
        self._keys = keys
        self._calendar = calendar
        self._clock = clock

    async def kill_switch(self) -> SwitchReport:
        """Return how the kill switch stands."""
        return _told(await self._spend.kill_switch(), changed=False)

    async def set_kill_switch(self, order: SwitchOrder) -> SwitchReport:
        """Stop every model call at once, or release them; the same order again changes nothing."""
        current = await self._spend.kill_switch()
        if current.is_on == order.is_on:
            return _told(current, changed=False)
        at = self._clock.now()
        switch = KillSwitch(is_on=order.is_on, at=at, by=order.by, reason=order.reason)
        await self._spend.set_kill_switch(switch)
        _log.warning("kill_switch", is_on=order.is_on, by=order.by, reason=order.reason)
        return _told(switch, changed=True)

    async def costs(self, ask: CostAsk) -> CostsReport:
        """Return what model calls cost."""
        today = self._calendar.day(self._clock.now())
        return await costs(self._spend, ask, today=today, keys=await self._keys.list())


async def costs(
    spend: SpendStore | None, ask: CostAsk, *, today: str, keys: Iterable[CallerKey] = ()
) -> CostsReport:
    """Return what was spent, nothing without a ledger; `keys` name the people and keys they know."""
    first_day, last_day = days_of(ask, today=today)
    labels = _labels(ask.by, keys)
    rows = await spend.report(ask.by, first_day=first_day, last_day=last_day) if spend else ()
    if ask.by == "day":
        rows = tuple(sorted(rows, key=lambda row: row.name))
    return CostsReport(
        by=ask.by,
        first_day=first_day,
        last_day=last_day,
        total=_sum(rows),
        rows=tuple(
            CostLine(**msgspec.structs.asdict(row), label=labels.get(row.name, "")) for row in rows
        ),
    )


def days_of(ask: CostAsk, *, today: str) -> tuple[str, str]:
    """Return the first and the last day that are asked for; raises `BadRequest`."""
    span = ask.first_day is not None or ask.last_day is not None
    if (ask.days is not None) + (ask.month is not None) + span > 1:
        raise BadRequest(
            "The days are given twice: give a number of days, a month, or the first and last day."
        )
    if ask.month is not None:
        return _month(ask.month)
    if not span:
        return _last_days(_USUAL_DAYS if ask.days is None else ask.days, today)
    if ask.first_day is None:
        raise BadRequest("A last day without a first one: name the day to count from (--from).")
    first, last = _day(ask.first_day), _day(ask.last_day or today)
    if first > last:
        raise BadRequest(f"The first day {first} is after the last day {last}: swap them.")
    return first, last


def _last_days(count: int, today: str) -> tuple[str, str]:
    if not 1 <= count <= _MOST_DAYS:
        raise BadRequest(f"{count} is not a number of days: expected 1 to {_MOST_DAYS:,}.")
    first = date.fromisoformat(today) - timedelta(days=count - 1)
    return first.isoformat(), today


def _month(text: str) -> tuple[str, str]:
    found = _MONTH.fullmatch(text)
    if found is None or not (int(found[1]) >= 1 and 1 <= int(found[2]) <= 12):
        raise BadRequest(f"{text!r} is not a month: expected one such as 2026-11.")
    return f"{text}-01", f"{text}-{monthrange(int(found[1]), int(found[2]))[1]:02}"


def _day(text: str) -> str:
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    raise BadRequest(f"{text!r} is not a day: expected one such as 2026-11-15.")


def _labels(by: CostBy, keys: Iterable[CallerKey]) -> Mapping[str, str]:
    if by == "key":
        return {key.id: f"{key.label}, {key.user}" if key.label else key.user for key in keys}
    return {key.person_id: key.user for key in keys} if by == "person" else {}


def _sum(rows: Iterable[CostRow]) -> CostRow:
    counted = [msgspec.structs.asdict(row) for row in rows]
    names = [name for name in CostRow.__struct_fields__ if name != "name"]
    return CostRow(name="total", **{name: sum(row[name] for row in counted) for name in names})


def _told(switch: KillSwitch, *, changed: bool) -> SwitchReport:
    return SwitchReport(**msgspec.structs.asdict(switch), changed=changed)
