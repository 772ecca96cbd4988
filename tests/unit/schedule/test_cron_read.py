"""Schedules as people write them, and how they are read back."""

import pytest

from hermes.errors import BadRequest
from hermes.schedule.cron_rule import next_after
from hermes.schedule.cron_text import spoken_rule, spoken_time
from hermes.schedule.cron_zone import find_zone
from hermes.schedule.schedules import read_rule

pytestmark = pytest.mark.req("W29")
# Sunday 2026-11-15 22:00 UTC.
NOW = 1_794_780_000.0


def read_back(text: str) -> tuple[str, str]:
    """Return the one form of a schedule and its first run."""
    rule = read_rule(text, zone="UTC", now=NOW)
    at = next_after(rule, NOW)
    assert at is not None
    return spoken_rule(rule), spoken_time(at, rule.zone).rpartition(" ")[0]


@pytest.mark.parametrize(
    ("text", "words", "first"),
    [
        ("every weekday at 9 in Berlin", "Mon-Fri 09:00 Europe/Berlin", "Mon 2026-11-16 09:00"),
        ("every 15 minutes", "every 15 minutes UTC", "Sun 2026-11-15 22:15"),
        ("tomorrow at 18:30", "once, Mon 2026-11-16 18:30 UTC", "Mon 2026-11-16 18:30"),
        ("in 2 hours", "once, Mon 2026-11-16 00:00 UTC", "Mon 2026-11-16 00:00"),
        ("in 3 days at 9", "once, Wed 2026-11-18 09:00 UTC", "Wed 2026-11-18 09:00"),
        (
            "on the 1st of every month at noon Europe/Paris",
            "day 1 of every month 12:00 Europe/Paris",
            "Tue 2026-12-01 12:00",
        ),
        ("every Monday and Thursday at 7:30 pm", "Mon, Thu 19:30 UTC", "Mon 2026-11-16 19:30"),
        ("every day at 7 and 9 pm", "every day 19:00, 21:00 UTC", "Mon 2026-11-16 19:00"),
        (
            "mon-fri at 9:00 and 17:30 London time",
            "Mon-Fri 09:00, 17:30 Europe/London",
            "Mon 2026-11-16 09:00",
        ),
        (
            "at 9 every weekday in new york",
            "Mon-Fri 09:00 America/New_York",
            "Mon 2026-11-16 09:00",
        ),
        ("Mondays at 6 am in Bali", "Mon 06:00 Asia/Makassar", "Mon 2026-11-23 06:00"),
        ("on Monday at 9", "once, Mon 2026-11-16 09:00 UTC", "Mon 2026-11-16 09:00"),
        ("every other friday at 10am", "every 14 days Fri 10:00 UTC", "Fri 2026-11-20 10:00"),
        ("every 45 minutes", "every 45 minutes UTC", "Sun 2026-11-15 22:45"),
        ("every 2 hours in Tokyo", "every 2 hours Asia/Tokyo", "Mon 2026-11-16 08:00"),
        ("every 30 minutes on weekdays", "Mon-Fri every 30 minutes UTC", "Mon 2026-11-16 00:00"),
        (
            "last day of every month at 17:00",
            "the last day of every month 17:00 UTC",
            "Mon 2026-11-30 17:00",
        ),
        ("every December 24 at 18:00", "day 24 of Dec 18:00 UTC", "Thu 2026-12-24 18:00"),
        ("2026-12-24 at 18:00", "once, Thu 2026-12-24 18:00 UTC", "Thu 2026-12-24 18:00"),
        ("0 9 * * 1-5", "Mon-Fri 09:00 UTC", "Mon 2026-11-16 09:00"),
        ("0 9 * * mon-fri in Berlin", "Mon-Fri 09:00 Europe/Berlin", "Mon 2026-11-16 09:00"),
        ("CRON_TZ=Asia/Tokyo 0 9 * * *", "every day 09:00 Asia/Tokyo", "Mon 2026-11-16 09:00"),
        (
            "*/15 9-17 * * 1-5",
            "Mon-Fri at minute 0, 15, 30, 45 of the hours 9-17 UTC",
            "Mon 2026-11-16 09:00",
        ),
        ("0 0 L * *", "the last day of every month 00:00 UTC", "Mon 2026-11-30 00:00"),
        ("0 0 * * 7", "Sun 00:00 UTC", "Sun 2026-11-22 00:00"),
        ("@daily", "every day 00:00 UTC", "Mon 2026-11-16 00:00"),
        ("@hourly", "every hour UTC", "Sun 2026-11-15 23:00"),
        ("@weekly Europe/Paris", "Sun 00:00 Europe/Paris", "Sun 2026-11-22 00:00"),
    ],
)
def test_a_schedule_is_understood_and_read_back(text: str, words: str, first: str) -> None:
    assert read_back(text) == (words, first)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("every blorp at 9", "I do not understand 'blorp'"),
        ("remind me at 9", "I do not understand 'remind me'"),
        ("every day", "names no time of the day"),
        ("monthly at 10", "does not say on which day"),
        ("at 25:00", "'25:00' is not a time of day"),
        ("every weekday at 9 in Atlantis", "not a known time zone"),
        ("every weekday at 9 in Berlim", "Did you mean Europe/Berlin"),
        ("every day in 2 hours", "both once and every time"),
        ("every day tomorrow at 9", "both once and every time"),
        ("every 15 minutes at 9", "both how often in a day and at which time"),
        ("today at 9", "that time is over"),
        ("every 31st of april at 8", "never comes"),
        ("0 9 30 2 *", "never comes"),
        ("61 * * * *", "The minute of the cron schedule is '61'"),
        ("0 17-9 * * *", "runs backwards"),
        ("0 9 * * noday", "day of the week"),
        ("*/0 * * * *", "a step is at least 1"),
        ("0 9 * * 1-5 6", "has 6 fields; cron has five"),
        ("@reboot", "is not one of @hourly"),
        ("", "The schedule is empty"),
        ("x" * 301, "301 characters"),
    ],
)
def test_what_is_not_understood_is_named(text: str, told: str) -> None:
    with pytest.raises(BadRequest) as error:
        read_rule(text, zone="UTC", now=NOW)

    assert told in str(error.value)


def test_examples_are_shown_with_what_was_not_understood() -> None:
    with pytest.raises(BadRequest, match=r"every weekday at 9 in Berlin.*tomorrow at 18:30"):
        read_rule("sometimes", zone="UTC", now=NOW)


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("berlin", "Europe/Berlin"),
        ("New York", "America/New_York"),
        ("new_york", "America/New_York"),
        ("EUROPE/paris", "Europe/Paris"),
        ("San Francisco", "America/Los_Angeles"),
        ("Lord Howe", "Australia/Lord_Howe"),
        ("utc", "UTC"),
        ("GMT", "UTC"),
        ("../../etc/passwd", None),
        ("", None),
    ],
)
def test_zones_are_found_by_the_names_that_people_use(name: str, zone: str | None) -> None:
    assert find_zone(name) == zone
