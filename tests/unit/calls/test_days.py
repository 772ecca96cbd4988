"""When the day and the month of a gateway end, which is when its budgets renew."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from hermes.calls.days import Calendar

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.req("A22")
@pytest.mark.parametrize(
    ("now", "day_s", "month_s"),
    [
        (datetime(2026, 3, 3, 22, 13, 20, tzinfo=BERLIN), 6_400, 28 * 86_400 - 3_600 + 6_400),
        (datetime(2026, 12, 31, 0, 0, 0, tzinfo=BERLIN), 86_400, 86_400),
        # The day on which the clocks go forward has 23 hours.
        (datetime(2026, 3, 29, 0, 0, 0, tzinfo=BERLIN), 82_800, 82_800 + 2 * 86_400),
    ],
)
def test_a_day_and_a_month_end_at_midnight(now: datetime, day_s: float, month_s: float) -> None:
    calendar = Calendar("Europe/Berlin")

    assert calendar.to_next_day(now.timestamp()) == day_s
    assert calendar.to_next_month(now.timestamp()) == month_s
