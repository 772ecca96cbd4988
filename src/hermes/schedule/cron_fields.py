"""Cron syntax: five fields with lists, ranges, steps and names, or a word such as @daily. Pure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from hermes.errors import BadRequest
from hermes.ports.cron import LAST_DAY, Rule

WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "@hourly": "0 * * * *",
        "@daily": "0 0 * * *",
        "@midnight": "0 0 * * *",
        "@weekly": "0 0 * * 0",
        "@monthly": "0 0 1 * *",
        "@yearly": "0 0 1 1 *",
        "@annually": "0 0 1 1 *",
    }
)
WEEKDAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_LONGEST_MONTHS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FIELDS: Final = 5


class _Field(msgspec.Struct, frozen=True):
    name: str
    first: int
    last: int
    names: Mapping[str, int] = {}


def _named(words: Sequence[str], *, first: int) -> Mapping[str, int]:
    """Return words and their first three letters with their numbers."""
    numbered = tuple(enumerate(words, start=first))
    return {word[:3]: at for at, word in numbered} | {word: at for at, word in numbered}


_MINUTE: Final = _Field("minute", 0, 59)
_HOUR: Final = _Field("hour", 0, 23)
_DAY: Final = _Field("day of the month", 1, 31, {"l": LAST_DAY})
_MONTH: Final = _Field("month", 1, 12, _named(MONTHS, first=1))
_WEEKDAY: Final = _Field("day of the week", 0, 7, _named(WEEKDAYS, first=0))


def is_cron(text: str) -> bool:
    """Return whether a schedule uses cron syntax, valid or not."""
    fields = text.split()
    if text.startswith("@"):
        return True
    starts = [field[:1] for field in fields[:2]]
    return len(fields) >= _FIELDS and all(one.isdigit() or one == "*" for one in starts)


def read_cron(text: str, *, zone: str) -> Rule:
    """Parse five fields or an @word; raises `BadRequest` that names the wrong field."""
    line = text
    if text.startswith("@"):
        line = WORDS.get(text.casefold(), "")
        if not line:
            raise BadRequest(f"{text[:40]!r} is not one of {', '.join(WORDS)}.")
    fields = line.split()
    if len(fields) != _FIELDS:
        raise BadRequest(
            f"{text[:80]!r} has {len(fields)} fields; cron has five: minute, hour, day of the month, "
            "month and day of the week, such as '0 9 * * 1-5'."
        )
    minutes, hours = _read(fields[0], _MINUTE), _read(fields[1], _HOUR)
    days, months = _read(fields[2], _DAY), _read(fields[3], _MONTH)
    weekdays = tuple(sorted({day % 7 for day in _read(fields[4], _WEEKDAY)}))
    rule = Rule(
        zone=zone,
        minutes=minutes if len(hours) == 24 else (),
        times=() if len(hours) == 24 else times_of(hours, minutes),
        days=() if len(days) == 31 else days,
        months=() if len(months) == 12 else months,
        weekdays=() if len(weekdays) == 7 else weekdays,
        is_either=not _is_any(fields[2]) and not _is_any(fields[4]),
    )
    return checked_days(rule, text)


def times_of(hours: Sequence[int], minutes: Sequence[int]) -> tuple[int, ...]:
    """Return every minute of a day with one of the hours and one of the minutes."""
    return tuple(sorted({hour * 60 + minute for hour in hours for minute in minutes}))


def checked_days(rule: Rule, text: str) -> Rule:
    """Return the rule; raises if no month has its days, such as 30 February."""
    months = rule.months or tuple(range(1, 13))
    longest = max(_LONGEST_MONTHS[month - 1] for month in months)
    by_number = not rule.days or min(rule.days) <= longest or LAST_DAY in rule.days
    if not by_number and not (rule.is_either and rule.weekdays):
        raise BadRequest(f"{text[:80]!r} never comes: none of its months has such a day.")
    if rule.is_either and not (rule.days and rule.weekdays):
        # One of the two allows every day, and so does the pair.
        return msgspec.structs.replace(rule, days=(), weekdays=(), is_either=False)
    return rule


def _is_any(text: str) -> bool:
    return text.startswith(("*", "?"))


def _read(text: str, field: _Field) -> tuple[int, ...]:
    found: set[int] = set()
    for piece in text.casefold().split(","):
        found |= _values(piece, field, text=text)
    return tuple(sorted(found))


def _values(piece: str, field: _Field, *, text: str) -> set[int]:
    span, slash, step_text = piece.partition("/")
    step = _number(step_text, field, text=text) if slash else 1
    if step < 1:
        raise _wrong(text, field, "a step is at least 1")
    first, last = _span(span, field, text=text)
    if LAST_DAY in (first, last):
        if span != piece or first != last or "-" in span:
            raise _wrong(text, field, "L, the last day, cannot be combined with other days")
        return {LAST_DAY}
    if slash and first == last and "-" not in span:
        last = field.last
    if first > last:
        raise _wrong(text, field, f"{span!r} runs backwards; write two ranges")
    return set(range(first, last + 1, step))


def _span(span: str, field: _Field, *, text: str) -> tuple[int, int]:
    if span in ("*", "?"):
        return field.first, field.last
    first_text, dash, last_text = span.partition("-")
    first = _value(first_text, field, text=text)
    return first, _value(last_text, field, text=text) if dash else first


def _value(word: str, field: _Field, *, text: str) -> int:
    named = field.names.get(word)
    if named is not None:
        return named
    value = _number(word, field, text=text)
    if not field.first <= value <= field.last:
        raise _wrong(text, field, f"{word} is not between {field.first} and {field.last}")
    return value


def _number(word: str, field: _Field, *, text: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) <= 4):
        known = f" or a name such as {next(iter(field.names))}" if field.names else ""
        raise _wrong(text, field, f"{word[:20]!r} is not a number{known}")
    return int(word)


def _wrong(text: str, field: _Field, why: str) -> BadRequest:
    return BadRequest(
        f"The {field.name} of the cron schedule is {text[:40]!r}: {why}. Lists (1,15), ranges (1-5) "
        "and steps (*/15) are understood."
    )
