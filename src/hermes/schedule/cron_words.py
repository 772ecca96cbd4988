"""Parses schedules in plain words: "every weekday at 9", "tomorrow at 18:30", "in 2 hours". Pure.

Each phrase that is understood is removed from the text; the error names what is left at the end.
"""

import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from hermes.errors import BadRequest
from hermes.ports.cron import LAST_DAY, Rule
from hermes.schedule.cron_fields import MONTHS, WEEKDAYS, checked_days
from hermes.schedule.cron_rule import instant_of, local_time
from hermes.schedule.cron_zone import find_zone, zone_of

EXAMPLES: Final = (
    "every weekday at 9 in Berlin",
    "every 15 minutes",
    "every Monday and Thursday at 7:30 pm",
    "on the 1st of every month at noon Europe/Paris",
    "tomorrow at 18:30",
    "in 2 hours",
    "0 9 * * 1-5",
)
_DAY_S: Final = 86_400
_UNITS: Final[Mapping[str, int]] = {"minute": 60, "min": 60, "hour": 3600, "hr": 3600, "h": 3600}
_LONG_UNITS: Final[Mapping[str, int]] = {"day": 1, "week": 7}
_NUMBER_WORDS: Final = (
    *((1, "a"), (1, "an"), (1, "one"), (2, "other"), (2, "two"), (2, "second"), (2, "2nd")),
    *((3, "three"), (3, "third"), (3, "3rd"), (4, "four"), (4, "fourth"), (5, "five")),
    *((6, "six"), (10, "ten")),
)
_COUNTS: Final[Mapping[str, int]] = {word: count for count, word in _NUMBER_WORDS}
_COUNT: Final = r"(\d{1,6}|" + "|".join(_COUNTS) + ")"
_ITEM: Final = (
    r"(?:noon|midnight|\d{1,2}(?:[:.]\d{2})?(?!\d|st\b|nd\b|rd\b|th\b)(?:\s*[ap]\.?m\b\.?)?"
    r"(?:\s*o'?clock)?)"
)
_AND: Final = r"(?:\s*,\s*(?:and\s+)?|\s+and\s+)"
_AT: Final = re.compile(rf"\bat\s+({_ITEM}(?:{_AND}(?:at\s+)?{_ITEM})*)")
_BARE: Final = re.compile(
    r"(?<![\d:.-])(\d{1,2}[:.]\d{2}(?:\s*[ap]\.?m\b\.?)?|\d{1,2}\s*[ap]\.?m\b\.?|\bnoon\b|\bmidnight\b)"
    r"(?![\d-])"
)
_CLOCK: Final = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?\s*(?:([ap])\.?m)?")
_WEEKDAY: Final = r"(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?)(?:day)?s?"
_WEEKDAYS: Final = re.compile(
    rf"\b({_WEEKDAY}(?:(?:{_AND}|\s*(?:-|\bto\b|\bthrough\b)\s*){_WEEKDAY})*)\b"
)
_MONTH: Final = "(" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS) + ")"
_ORDINAL: Final = r"(?:\d{1,2}(?:st|nd|rd|th)|last(?:\s+day)?)"
_NUMBERS: Final = re.compile(rf"\b((?:the\s+)?{_ORDINAL}(?:{_AND}(?:the\s+)?{_ORDINAL})*)\b")
_FILLERS: Final = frozenset(
    {"at", "on", "the", "of", "and", "every", "each", "in", "a", "day", "days", "month", "year"}
    | {",", "week", "please", "once", "next", "this", "daily", "monthly", "yearly", "weekly"}
)


class _Words:
    """The text that is not parsed yet."""

    def __init__(self, text: str) -> None:
        self.whole = text
        self.left = " ".join(text.casefold().replace("’", "'").split()).strip(" .!")
        every = re.search(
            r"\b(every|each|daily|hourly|weekly|monthly|yearly|annually)\b", self.left
        )
        self.is_every = every is not None

    def take(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        found = re.search(pattern, self.left)
        if found is not None:
            self.left = f"{self.left[: found.start()]} , {self.left[found.end() :]}"
        return found

    def check(self) -> None:
        words = self.left.replace(",", " ").split()
        strange = " ".join(word for word in words if word not in _FILLERS)
        if strange:
            raise self.wrong(f"I do not understand {strange[:60]!r} in it")

    def wrong(self, why: str) -> BadRequest:
        return BadRequest(
            f"The schedule is {self.whole[:80]!r}: {why}. Write it like {_shown_examples()}."
        )


def _shown_examples() -> str:
    return ", ".join(f"'{example}'" for example in EXAMPLES)


class _Days(msgspec.Struct, kw_only=True):
    """What was parsed about the days."""

    weekdays: tuple[int, ...] = ()
    days: tuple[int, ...] = ()
    months: tuple[int, ...] = ()
    every_days: int = 0
    once: date | None = None
    is_found: bool = False


def empty_schedule() -> BadRequest:
    """Return the error for a schedule without words, with examples."""
    return BadRequest(f"The schedule is empty. Write it like {_shown_examples()}.")


def read_words(text: str, *, zone: str, now: float) -> Rule:
    """Return the rule that plain words mean; raises `BadRequest` with what was not understood."""
    words = _Words(text)
    zone = _take_zone(words) or zone
    after = _take_delay(words, now=now, zone=zone)
    times = _take_times(words)
    if after is not None:
        return _later(after, times, words=words, zone=zone)
    minutes = _take_frequency(words)
    today = local_time(now, zone).date()
    days = _take_days(words, today=today)
    words.check()
    if minutes:
        if times or days.once is not None or days.every_days:
            raise words.wrong("it says both how often in a day and at which time")
        return _frequent(minutes, days, zone=zone, now=now)
    if not times:
        raise words.wrong("it names no time of the day; add one, such as 'at 9:00'")
    return _at_times(words, days, times=times, zone=zone, now=now)


def _frequent(minutes: int, days: _Days, *, zone: str, now: float) -> Rule:
    rule = Rule(zone=zone, weekdays=days.weekdays, days=days.days, months=days.months)
    if 60 % minutes == 0:
        return msgspec.structs.replace(rule, minutes=tuple(range(0, 60, minutes)))
    if minutes % 60 == 0 and 24 % (minutes // 60) == 0:
        return msgspec.structs.replace(rule, times=tuple(range(0, 24 * 60, minutes)))
    if days.is_found:
        raise BadRequest(
            "Only steps that divide an hour or a day, such as every 15 minutes or every 2 hours, can "
            "be kept to certain days."
        )
    return Rule(zone=zone, every_s=minutes * 60, since=float(int(now)))


def _at_times(words: _Words, days: _Days, *, times: tuple[int, ...], zone: str, now: float) -> Rule:
    if days.once is not None and words.is_every:
        raise words.wrong("it says both once and every time")
    if not words.is_every and not _is_plural(words, days):
        return _once(words, days, times=times, zone=zone, now=now)
    first = _first_day(days, now=now, zone=zone)
    return checked_days(
        Rule(
            zone=zone,
            times=times,
            weekdays=days.weekdays,
            days=days.days,
            months=days.months,
            every_days=days.every_days,
            first_day=first.toordinal() if days.every_days else 0,
        ),
        words.whole,
    )


def _is_plural(words: _Words, days: _Days) -> bool:
    """Return whether the days repeat although no `every` says so: on Mondays, Mon-Fri."""
    named = re.search(
        r"\bweek(?:day|end)s?\b|days\b|\b(?:mon|tue|wed|thu|fri|sat|sun)s\b", words.whole.casefold()
    )
    return (
        len(days.weekdays) > 1
        or (bool(days.weekdays) and named is not None)
        or (bool(days.days) and not days.months and "month" in words.whole.casefold())
    )


def _first_day(days: _Days, *, now: float, zone: str) -> date:
    """Return the day from which steps of days are counted: the next matching day."""
    day = local_time(now, zone).date()
    while days.weekdays and day.isoweekday() % 7 not in days.weekdays:
        day += timedelta(days=1)
    return day


def _once(words: _Words, days: _Days, *, times: tuple[int, ...], zone: str, now: float) -> Rule:
    if len(times) != 1:
        raise words.wrong("a single run has one time")
    local = local_time(now, zone)
    rule = Rule(zone=zone, weekdays=days.weekdays, days=days.days, months=days.months)
    day = days.once or local.date()
    for ahead in range(1 if days.once else 4 * 366):
        candidate = day + timedelta(days=ahead)
        if days.once is None and not _is_day(rule, candidate):
            continue
        at = instant_of(
            datetime.combine(candidate, time()) + timedelta(minutes=times[0]), ZoneInfo(zone)
        )
        if at > now:
            return Rule(zone=zone, once=at)
    raise words.wrong("that time is over")


def _is_day(rule: Rule, day: date) -> bool:
    is_last = (day + timedelta(days=1)).month != day.month
    return (
        (not rule.weekdays or day.isoweekday() % 7 in rule.weekdays)
        and (not rule.days or day.day in rule.days or (is_last and LAST_DAY in rule.days))
        and (not rule.months or day.month in rule.months)
    )


def _later(after: float | date, times: tuple[int, ...], *, words: _Words, zone: str) -> Rule:
    words.check()
    if words.is_every:
        raise words.wrong("it says both once and every time")
    if isinstance(after, float):
        if times:
            raise words.wrong("it says both how long from now and at which time")
        return Rule(zone=zone, once=after)
    if len(times) != 1:
        raise words.wrong("a single run has one time")
    shown = datetime.combine(after, time()) + timedelta(minutes=times[0])
    return Rule(zone=zone, once=instant_of(shown, ZoneInfo(zone)))


def _take_zone(words: _Words) -> str | None:
    found = words.take(r"(?:\bin\s+)?\(?\b([a-z_]+(?:/[a-z_+\-0-9]+)+)\)?")
    if found is not None:
        return zone_of(found[1])
    found = words.take(r"\b(utc|gmt)\b(?:\s+time\b)?")
    if found is not None:
        return "UTC"
    found = words.take(
        rf"\bin\s+(?!\d|{_COUNT}\s+(?:minute|hour|day|week|min|hr)|the\b|{_MONTH}\b)"
        r"([a-z][a-z '_-]*?)(?:\s+time)?(?=\s+(?:at|every|each|on)\b|\s*,|$)"
    )
    if found is not None:
        return zone_of(found[found.lastindex or 1])
    found = re.search(r"\b((?:[a-z]+ )?[a-z]+) time\b", words.left)
    if found is None:
        return None
    short = found[1].rpartition(" ")[2]
    name = found[1] if find_zone(found[1]) else short
    words.take(rf"\b{name} time\b")
    return zone_of(name)


def _take_delay(words: _Words, *, now: float, zone: str) -> float | date | None:
    """Return what `in ...` means: an instant, or for days and weeks with a time, a day."""
    found = words.take(rf"\bin\s+{_COUNT}\s+(minute|min|hour|hr|h|day|week)s?\b")
    if found is None:
        return None
    count = _count(found[1])
    if found[2] in _UNITS:
        return now + count * _UNITS[found[2]]
    days = count * _LONG_UNITS[found[2]]
    if days > 4 * 366:
        raise words.wrong("that is more than four years away")
    if _AT.search(words.left) or _BARE.search(words.left):
        return local_time(now, zone).date() + timedelta(days=days)
    return now + float(days * _DAY_S)


def _take_times(words: _Words) -> tuple[int, ...]:
    found: list[int] = []
    while (match := words.take(_AT)) is not None:
        found += _clock_times(match[1], words)
    while (match := words.take(_BARE)) is not None:
        found += _clock_times(match[1], words)
    return tuple(sorted(set(found)))


def _clock_times(text: str, words: _Words) -> list[int]:
    items = [match[0].strip() for match in re.finditer(_ITEM, text)]
    last = _CLOCK.match(items[-1])
    half = last[3] if last is not None else None
    return [_minutes(item, half, words=words) for item in items]


def _minutes(item: str, half: str | None, *, words: _Words) -> int:
    if item in ("noon", "midnight"):
        return 720 if item == "noon" else 0
    match = _CLOCK.match(item)
    assert match is not None
    hour, minute = int(match[1]), int(match[2] or 0)
    half = match[3] or (half if 1 <= hour <= 12 else None)
    if half is not None:
        if not 1 <= hour <= 12:
            raise words.wrong(f"{item!r} is not a time of day")
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23 or minute > 59:
        raise words.wrong(f"{item!r} is not a time of day")
    return hour * 60 + minute


def _take_frequency(words: _Words) -> int:
    """Return the interval in minutes; 0 if none is given."""
    if words.take(r"\bhourly\b|\bevery\s+hour\b"):
        return 60
    if words.take(r"\bevery\s+minute\b"):
        return 1
    found = words.take(rf"\bevery\s+{_COUNT}\s+(minute|min|hour|hr|h)s?\b")
    if found is None:
        return 0
    minutes = _count(found[1]) * _UNITS[found[2]] // 60
    if not 1 <= minutes <= 366 * 1440:
        raise words.wrong(f"{found[0]!r} is not between a minute and a year")
    return minutes


def _take_days(words: _Words, *, today: date) -> _Days:
    days = _Days()
    _take_steps(words, days)
    _take_date(words, days, today=today)
    _take_months(words, days)
    found = words.take(_NUMBERS)
    if found is not None:
        days.days = _numbers(found[1], words)
    if words.take(r"\bweekdays?\b|\bworking\s+days?\b|\bworkdays?\b"):
        days.weekdays = (1, 2, 3, 4, 5)
    elif words.take(r"\bweekends?\b"):
        days.weekdays = (0, 6)
    while (match := words.take(_WEEKDAYS)) is not None:
        days.weekdays = tuple(sorted({*days.weekdays, *_weekdays(match[1])}))
    days.is_found = bool(days.is_found or days.weekdays or days.days or days.months)
    if not days.is_found and re.search(r"\bmonth(ly)?\b|\byear(ly)?\b|\bweek(ly)?\b", words.left):
        raise words.wrong("it does not say on which day")
    return days


def _take_steps(words: _Words, days: _Days) -> None:
    found = words.take(rf"\bevery\s+{_COUNT}\s+(day|week)s?\b")
    if found is not None:
        days.every_days = _count(found[1]) * _LONG_UNITS[found[2]]
    elif (found := words.take(rf"\bevery\s+(?:other|second)\s+(?={_WEEKDAY}\b)")) is not None:
        days.every_days = 14
    if found is not None and not 1 <= days.every_days <= 366:
        raise words.wrong(f"{found[0].strip()!r} is not between a day and a year")
    days.is_found = found is not None
    days.every_days = 0 if days.every_days == 1 else days.every_days


def _take_date(words: _Words, days: _Days, *, today: date) -> None:
    if words.take(r"\b(?:the\s+)?day\s+after\s+tomorrow\b"):
        days.once = today + timedelta(days=2)
    elif words.take(r"\btomorrow\b"):
        days.once = today + timedelta(days=1)
    elif words.take(r"\btoday\b"):
        days.once = today
    elif (found := words.take(r"\b(\d{4})-(\d{2})-(\d{2})\b")) is not None:
        try:
            days.once = date(int(found[1]), int(found[2]), int(found[3]))
        except ValueError as error:
            raise words.wrong(f"{found[0]} is not a date") from error


def _take_months(words: _Words, days: _Days) -> None:
    found = words.take(rf"\b{_MONTH}\s+(?:the\s+)?(\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)")
    if found is not None:
        days.months, number = (_month(found[1]),), int(found[2])
    else:
        found = words.take(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+{_MONTH}\b")
        if found is None:
            return
        days.months, number = (_month(found[2]),), int(found[1])
    if not 1 <= number <= 31:
        raise words.wrong(f"{found[0]!r} is not a day")
    days.days = (number,)
    checked_days(Rule(zone="UTC", days=days.days, months=days.months), words.whole)


def _numbers(text: str, words: _Words) -> tuple[int, ...]:
    found = {int(number) for number in re.findall(r"\d+", text)}
    if not all(1 <= number <= 31 for number in found):
        raise words.wrong(f"{text!r} is not a day of the month")
    return tuple(sorted(found | ({LAST_DAY} if "last" in text else set())))


def _weekdays(text: str) -> set[int]:
    found: set[int] = set()
    pieces = re.findall(rf"({_WEEKDAY})|(-|to|through)", text)
    previous: int | None = None
    is_range = False
    for name, joins in pieces:
        if joins:
            is_range = True
            continue
        day = next(at for at, known in enumerate(WEEKDAYS) if known.startswith(name[:3]))
        if is_range and previous is not None:
            found |= {at % 7 for at in range(previous, previous + (day - previous) % 7 + 1)}
        found.add(day)
        previous, is_range = day, False
    return found


def _month(word: str) -> int:
    return next(at for at, name in enumerate(MONTHS, start=1) if name.startswith(word[:3]))


def _count(word: str) -> int:
    return int(word) if word.isdigit() else _COUNTS[word]
