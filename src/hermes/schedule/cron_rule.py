"""Computes when a scheduled job runs: successive instants, also across clock changes.

Pure; only the time zones are read. A local time that the clocks skip becomes the first instant
after the gap; a local time that occurs twice counts once, the first time. An hourly rule follows
the instants instead: it runs in both hours that look alike.
"""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from hermes.ports.cron import LAST_DAY, Rule

MOST_COUNTED: Final = 1_000
# The 29th of February can be eight years away.
_DAYS_AHEAD: Final = 9 * 366
_DAY: Final = timedelta(days=1)
_MINUTE: Final = 60
# No clocks were ever set by more than a day.
_LARGEST_SHIFT: Final = timedelta(days=2)


def next_after(rule: Rule, at: float) -> float | None:
    """Return the first instant of a rule after `at`; None if there is none."""
    if rule.once is not None:
        return rule.once if rule.once > at else None
    if rule.every_s:
        return _next_step(rule, at)
    zone = ZoneInfo(rule.zone)
    return _every_hour(rule, at, zone=zone) if rule.minutes else _at_times(rule, at, zone=zone)


def due_between(rule: Rule, first: float, *, until: float) -> tuple[float, int]:
    """Return the latest instant from `first` (itself one) to `until`, and how many there are.

    At most `MOST_COUNTED` are counted.
    """
    latest, count = first, 1
    while count < MOST_COUNTED:
        following = next_after(rule, latest)
        if following is None or following > until:
            return latest, count
        latest, count = following, count + 1
    return _latest(rule, until), count


def least_gap(rule: Rule, after: float, *, looks: int = 60) -> float | None:
    """Return the shortest time between the next instants; None if there are fewer than two."""
    least: float | None = None
    before = next_after(rule, after)
    for _ in range(looks):
        following = None if before is None else next_after(rule, before)
        if before is None or following is None:
            break
        least = following - before if least is None else min(least, following - before)
        before = following
    return least


def local_time(at: float, zone: str) -> datetime:
    """Return an instant in the local time of a zone."""
    return datetime.fromtimestamp(at, ZoneInfo(zone))


def instant_of(local: datetime, zone: ZoneInfo) -> float:
    """Return the first instant of a local time; for a skipped time, the end of the gap."""
    after = local.replace(tzinfo=zone, fold=0)
    high = int(after.timestamp())
    if datetime.fromtimestamp(high, zone).replace(tzinfo=None) == local:
        return float(high)
    low = int(local.replace(tzinfo=zone, fold=1).timestamp())
    offset = datetime.fromtimestamp(high, zone).utcoffset()
    while high - low > 1:
        middle = (low + high) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == offset:
            high = middle
        else:
            low = middle
    return float(high)


def _next_step(rule: Rule, at: float) -> float:
    steps = int((at - rule.since) // rule.every_s) + 1
    following = rule.since + steps * rule.every_s
    return following if following > at else following + rule.every_s


def _latest(rule: Rule, until: float) -> float:
    """Return the latest instant up to `until`; there must be one."""
    window = float(_MINUTE)
    found = next_after(rule, until - window)
    while found is None or found > until:
        window *= 2
        found = next_after(rule, until - window)
    following = next_after(rule, found)
    while following is not None and following <= until:
        found, following = following, next_after(rule, following)
    return found


def _at_times(rule: Rule, at: float, *, zone: ZoneInfo) -> float | None:
    local = datetime.fromtimestamp(at, zone).replace(tzinfo=None)
    for day in _days_from(rule, local.date() - _DAY):
        midnight = datetime.combine(day, time())
        for minutes in rule.times:
            shown = midnight + timedelta(minutes=minutes)
            if shown < local - _LARGEST_SHIFT:
                continue
            instant = instant_of(shown, zone)
            if instant > at:
                return instant
    return None


def _every_hour(rule: Rule, at: float, *, zone: ZoneInfo) -> float | None:
    instant = (int(at) // _MINUTE + 1) * _MINUTE
    until = instant + _DAYS_AHEAD * 86_400
    while instant < until:
        local = datetime.fromtimestamp(instant, zone)
        if not _fits(rule, local.date()):
            day = next(_days_from(rule, local.date() + _DAY), None)
            if day is None:
                return None
            instant = max(instant + _MINUTE, int(instant_of(datetime.combine(day, time()), zone)))
            continue
        if local.minute in rule.minutes:
            return float(instant)
        instant = _skip(instant, local, minutes=rule.minutes)
    return None


def _skip(instant: int, local: datetime, *, minutes: tuple[int, ...]) -> int:
    """Return the next instant to check: the clocks must not change before it."""
    later = next((minute for minute in minutes if minute > local.minute), 60)
    far = instant + (later - local.minute) * _MINUTE
    is_steady = datetime.fromtimestamp(far, local.tzinfo).utcoffset() == local.utcoffset()
    return far if is_steady else instant + _MINUTE


def _days_from(rule: Rule, day: date) -> Iterator[date]:
    for number in range(_DAYS_AHEAD):
        candidate = day + number * _DAY
        if _fits(rule, candidate):
            yield candidate


def _fits(rule: Rule, day: date) -> bool:
    if rule.months and day.month not in rule.months:
        return False
    if rule.every_days and (day.toordinal() - rule.first_day) % rule.every_days:
        return False
    by_number = not rule.days or _has_number(rule.days, day)
    by_weekday = not rule.weekdays or day.isoweekday() % 7 in rule.weekdays
    return (by_number or by_weekday) if rule.is_either else (by_number and by_weekday)


def _has_number(days: tuple[int, ...], day: date) -> bool:
    return day.day in days or (LAST_DAY in days and (day + _DAY).month != day.month)
