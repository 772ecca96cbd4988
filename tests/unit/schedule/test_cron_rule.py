"""Rules come round at the right instants: over changes of clocks in three zones, and by properties."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.ports.cron import LAST_DAY, Rule
from hermes.schedule.cron_rule import MOST_COUNTED, due_between, least_gap, next_after
from hermes.schedule.schedules import read_rule

pytestmark = pytest.mark.req("W29")
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
# Instants near the changes of all three zones, and far from any.
INSTANTS = st.floats(min_value=1_700_000_000, max_value=1_900_000_000)


def utc(text: str) -> float:
    """Return the instant of a time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def shown(rule: Rule, since: str, *, count: int) -> list[str]:
    """Return the next runs after a time in UTC, in UTC."""
    at, found = utc(since), []
    for _ in range(count):
        following = next_after(rule, at)
        assert following is not None
        at = following
        found.append(f"{datetime.fromtimestamp(at, UTC):%m-%d %H:%M}")
    return found


def rule(text: str, zone: str = "UTC", now: float = 1_794_780_000.0) -> Rule:
    """Return the rule that a text means."""
    return read_rule(text, zone=zone, now=now)


@pytest.mark.parametrize(
    ("text", "zone", "since", "expected"),
    [
        # Berlin skips 02:00 to 03:00 on 29 March 2026: 02:30 comes at 03:00, once.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-27 12:00",
            ["03-28 01:30", "03-29 01:00", "03-30 00:30"],
        ),
        # All times of the skipped hour are one run, which is that of 03:00.
        (
            "0,15,45 2,3 * * *",
            "Europe/Berlin",
            "2026-03-28 12:00",
            ["03-29 01:00", "03-29 01:15", "03-29 01:45", "03-30 00:00"],
        ),
        # Berlin shows 02:00 to 03:00 twice on 25 October 2026: 02:30 comes the first time.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24 12:00",
            ["10-25 00:30", "10-26 01:30"],
        ),
        # What is for every hour goes on through the hour that comes twice.
        (
            "every 30 minutes",
            "Europe/Berlin",
            "2026-10-25 00:00",
            ["10-25 00:30", "10-25 01:00", "10-25 01:30", "10-25 02:00"],
        ),
        # New York skips 02:00 to 03:00 on 8 March 2026, and has 01:30 twice on 1 November.
        (
            "30 2 * * *",
            "America/New_York",
            "2026-03-07 12:00",
            ["03-08 07:00", "03-09 06:30"],
        ),
        (
            "30 1 * * *",
            "America/New_York",
            "2026-10-31 12:00",
            ["11-01 05:30", "11-02 06:30"],
        ),
        # Lord Howe skips half an hour, 02:00 to 02:30, on 4 October 2026.
        (
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-02 20:00",
            ["10-03 15:30", "10-04 15:15"],
        ),
        # Pyongyang went from 23:30 to midnight on 4 May 2018, in the middle of an hour.
        (
            "0 * * * *",
            "Asia/Pyongyang",
            "2018-05-04 14:10",
            ["05-04 14:30", "05-04 15:00", "05-04 16:00"],
        ),
        # Lord Howe shows 01:30 to 02:00 twice on 5 April 2026.
        (
            "45 1 * * *",
            "Australia/Lord_Howe",
            "2026-04-03 20:00",
            ["04-04 14:45", "04-05 15:15"],
        ),
        (
            "45 * * * *",
            "Australia/Lord_Howe",
            "2026-04-04 14:00",
            ["04-04 14:45", "04-04 15:15", "04-04 16:15"],
        ),
    ],
)
def test_clocks_that_change_run_a_job_once(
    text: str, zone: str, since: str, expected: list[str]
) -> None:
    assert shown(rule(text, zone), since, count=len(expected)) == expected


def test_a_day_that_a_zone_left_out_runs_when_the_next_begins() -> None:
    # Apia had no 30 December 2011.
    found = shown(rule("0 9 30 12 *", "Pacific/Apia"), "2011-12-29 00:00", count=1)

    assert found == ["12-30 10:00"]


def test_rare_days_are_found_and_days_that_never_come_end_nothing() -> None:
    leap = next_after(rule("0 12 29 2 *"), utc("2096-03-01 00:00"))

    assert leap == utc("2104-02-29 12:00")
    assert next_after(Rule(zone="UTC", times=(0,), days=(30,), months=(2,)), 0.0) is None


def test_cron_takes_a_day_by_its_number_or_its_weekday() -> None:
    both = rule("0 0 13 * 5")

    assert shown(both, "2026-11-10 00:00", count=4) == [
        "11-13 00:00",
        "11-20 00:00",
        "11-27 00:00",
        "12-04 00:00",
    ]


FIXED = st.builds(
    Rule,
    zone=st.sampled_from(ZONES),
    times=st.lists(st.integers(0, 1439), min_size=1, max_size=4, unique=True).map(
        lambda found: tuple(sorted(found))
    ),
    days=st.sampled_from([(), (1,), (15, LAST_DAY), (4, 5, 29)]),
    weekdays=st.sampled_from([(), (0,), (1, 2, 3, 4, 5)]),
    months=st.sampled_from([(), (3, 4, 10, 11)]),
)
HOURLY = st.builds(
    Rule,
    zone=st.sampled_from(ZONES),
    minutes=st.sets(st.integers(0, 59), min_size=1, max_size=4).map(
        lambda found: tuple(sorted(found))
    ),
    weekdays=st.sampled_from([(), (0, 6)]),
)
STEPS = st.builds(
    Rule, zone=st.just("UTC"), every_s=st.integers(60, 10**6), since=st.floats(0, 2 * 10**9)
)


def fits(one: Rule, local: datetime) -> bool:
    """Tell by brute force whether a time on the clocks belongs to a rule, whatever the hour."""
    is_last = (local + timedelta(days=1)).month != local.month
    return (
        (not one.months or local.month in one.months)
        and (not one.days or local.day in one.days or (is_last and LAST_DAY in one.days))
        and (not one.weekdays or local.isoweekday() % 7 in one.weekdays)
        and (not one.minutes or local.minute in one.minutes)
        and (not one.times or local.hour * 60 + local.minute in one.times)
    )


def expected_minutes(one: Rule, start: float, end: float) -> list[float]:
    """Return by brute force the runs between two instants, looking at every minute."""
    zone, seen, found = ZoneInfo(one.zone), set(), []
    at = (int(start) // 60) * 60
    before = datetime.fromtimestamp(at - 60, zone).replace(tzinfo=None)
    while at <= end:
        local = datetime.fromtimestamp(at, zone).replace(tzinfo=None)
        skipped, step = [], before + timedelta(minutes=1)
        while step < local:
            skipped.append(step)
            step += timedelta(minutes=1)
        is_new = one.minutes or local not in seen
        hits = fits(one, local) or (one.times and any(fits(one, lost) for lost in skipped))
        if is_new and hits and start < at:
            found.append(float(at))
        seen.add(local)
        before, at = max(before, local) if one.times else local, at + 60
    return found


@settings(max_examples=60, deadline=None)
@given(
    one=FIXED | HOURLY,
    zone_change=st.sampled_from(
        [1774746000, 1792890000, 1775314800, 1791043200, 1772953200, 1793512800]
    ),
    shift=st.integers(-7200, 7200),
)
def test_runs_are_those_that_looking_at_every_minute_finds(
    one: Rule, zone_change: int, shift: int
) -> None:
    # Given two days around a change of clocks somewhere, begun well before it
    start = float(zone_change + shift - 86_400)
    end = start + 2 * 86_400

    # When the runs are reckoned
    found, at = [], next_after(one, start)
    while at is not None and at <= end:
        found.append(at)
        at = next_after(one, at)

    # Then none is left out, none is between, and none is twice
    assert found == expected_minutes(one, start, end)


@settings(max_examples=200, deadline=None)
@given(one=FIXED | HOURLY | STEPS, at=INSTANTS)
def test_the_next_run_is_later_and_nothing_is_before_it(one: Rule, at: float) -> None:
    following = next_after(one, at)

    assert following is not None
    assert following > at
    assert next_after(one, (at + following) / 2) == following
    assert next_after(one, following - 0.001) == following


@settings(max_examples=100, deadline=None)
@given(one=FIXED | HOURLY | STEPS, at=INSTANTS, span=st.floats(0, 10**6))
def test_what_was_due_is_the_latest_and_counted(one: Rule, at: float, span: float) -> None:
    first = next_after(one, at)
    assert first is not None

    latest, count = due_between(one, first, until=first + span)

    following = next_after(one, latest)
    assert following is not None
    assert first <= latest <= first + span < following
    assert 1 <= count <= MOST_COUNTED


def test_years_of_minutes_are_not_counted_one_by_one() -> None:
    every_minute, first = rule("* * * * *"), utc("2020-01-01 00:00")

    latest, count = due_between(every_minute, first, until=utc("2026-01-01 00:00:30"))

    assert (latest, count) == (utc("2026-01-01 00:00"), MOST_COUNTED)


def test_the_shortest_gap_is_found() -> None:
    assert least_gap(rule("0 9,10 * * 1-5"), utc("2026-11-16 08:00")) == 3600
    assert least_gap(rule("in 2 hours"), 1_794_780_000.0) is None
