"""Days and months of the gateway's time zone, in the format of budgets and the ledger."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo


class Calendar:
    """Names days and months; without a zone, in the machine's time zone."""

    def __init__(self, time_zone: str | None) -> None:
        self._zone = None if time_zone is None else ZoneInfo(time_zone)
        self._hour = -1
        self._day = ""

    def day(self, at: float) -> str:
        """Return the day of an instant, such as 2026-11-15."""
        # A day never begins inside a quarter of an hour: no zone is offset by less.
        quarter = int(at) // 900
        if quarter != self._hour:
            self._hour, self._day = quarter, self._local(at).date().isoformat()
        return self._day

    def month(self, at: float) -> str:
        """Return the month of an instant, such as 2026-11."""
        return self.day(at)[:7]

    def to_next_day(self, at: float) -> float:
        """Return the seconds until the next day begins."""
        now = self._local(at)
        return self._until(now, now.replace(hour=0, minute=0, second=0) + timedelta(days=1))

    def to_next_month(self, at: float) -> float:
        """Return the seconds until the next month begins."""
        now = self._local(at)
        later = now.replace(day=28, hour=0, minute=0, second=0) + timedelta(days=4)
        return self._until(now, later.replace(day=1))

    def _local(self, at: float) -> datetime:
        return datetime.fromtimestamp(int(at), tz=self._zone).astimezone(self._zone)

    def _until(self, now: datetime, later: datetime) -> float:
        return max(1.0, later.timestamp() - now.timestamp())
