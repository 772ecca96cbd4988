"""Rules as text: "Mon-Fri 09:00 Europe/Berlin", and instants in the job's local time. Pure."""

from collections.abc import Sequence

from hermes.ports.cron import LAST_DAY, Rule
from hermes.schedule.cron_fields import MONTHS, WEEKDAYS, times_of
from hermes.schedule.cron_rule import local_time

_MOST_TIMES = 8
_ANY = "every day"
# People count from Monday.
_WEEK = (1, 2, 3, 4, 5, 6, 0)


def spoken_rule(rule: Rule) -> str:
    """Return a rule as text in its one form, with its zone."""
    if rule.once is not None:
        return f"once, {spoken_time(rule.once, rule.zone)}"
    if rule.every_s:
        return f"every {_span(rule.every_s)} {rule.zone}"
    days, times = _days(rule), _times(rule)
    is_often = times.startswith("every")
    return f"{times if is_often and days == _ANY else f'{days} {times}'} {rule.zone}"


def spoken_time(at: float, zone: str) -> str:
    """Return an instant as text in the local time of a zone."""
    return f"{local_time(at, zone):%a %Y-%m-%d %H:%M} {zone}"


def _times(rule: Rule) -> str:
    if rule.minutes:
        step = 60 // len(rule.minutes)
        if rule.minutes == tuple(range(0, 60, step)):
            return "every hour" if step == 60 else f"every {_span(step * 60)}"
        return f"at minute {_runs(rule.minutes)} of every hour"
    if len(rule.times) <= _MOST_TIMES:
        return ", ".join(f"{at // 60:02}:{at % 60:02}" for at in rule.times)
    step = rule.times[1] - rule.times[0]
    if rule.times == tuple(range(0, 1440, step)):
        return f"every {_span(step * 60)}"
    hours = sorted({at // 60 for at in rule.times})
    minutes = sorted({at % 60 for at in rule.times})
    if rule.times == times_of(hours, minutes):
        return f"at minute {_runs(minutes)} of the hours {_runs(hours)}"
    return ", ".join(f"{at // 60:02}:{at % 60:02}" for at in rule.times)


def _days(rule: Rule) -> str:
    pieces = []
    if rule.every_days:
        pieces.append(f"every {rule.every_days} days")
    weekdays = _weekdays(rule.weekdays) if rule.weekdays else ""
    numbers = _numbers(rule) if rule.days else ""
    if weekdays and numbers:
        pieces.append(f"{numbers} {'or' if rule.is_either else 'and'} {weekdays}")
    else:
        pieces.append(weekdays or numbers)
    if rule.months and not rule.days:
        pieces.append(f"in {_months(rule.months)}")
    return " ".join(piece for piece in pieces if piece) or _ANY


def _numbers(rule: Rule) -> str:
    days = [day for day in rule.days if day != LAST_DAY]
    named = [f"day {_runs(days)}"] if days else []
    named += ["the last day"] if LAST_DAY in rule.days else []
    return f"{' and '.join(named)} of {_months(rule.months) if rule.months else 'every month'}"


def _months(months: Sequence[int]) -> str:
    return ", ".join(MONTHS[month - 1][:3].capitalize() for month in months)


def _weekdays(weekdays: Sequence[int]) -> str:
    places = [at for at, day in enumerate(_WEEK) if day in weekdays]
    runs = _runs(places).split(", ")
    return ", ".join("-".join(_weekday(int(place)) for place in run.split("-")) for run in runs)


def _weekday(place: int) -> str:
    return WEEKDAYS[_WEEK[place]][:3].capitalize()


def _runs(numbers: Sequence[int]) -> str:
    """Return numbers as text, with three or more in a row as a range."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return ", ".join(shown)


def _span(seconds: int) -> str:
    for unit, size in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds % size == 0:
            count = seconds // size
            return unit if count == 1 else f"{count} {unit}s"
    return f"{seconds} seconds"
