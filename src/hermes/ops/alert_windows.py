"""Sends the same alert at most once per window, with its count. Pure.

The first alert of a kind and case is sent at once. Later ones are counted; if there were any when
the window ends, one alert says how many, and the next window begins.
"""

import msgspec

from hermes.message.ids import MakeId
from hermes.ops.alert_rules import AlertCase, Severity

_MOST_CASES = 200
_OTHERS = "others"


class Alert(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An alert to send: the last text, and how often it occurred since the previous alert."""

    id: str
    at: float
    kind: str
    severity: Severity
    text: str
    about: str = ""
    count: int = 1


class _Window:
    __slots__ = ("count", "ends", "last")

    def __init__(self, told: AlertCase, ends: float) -> None:
        self.last = told
        self.ends = ends
        self.count = 0


class Windows:
    """Decides which alert is sent when."""

    def __init__(self, window_s: float, *, make_id: MakeId) -> None:
        self._window_s = window_s
        self._make_id = make_id
        self._open: dict[tuple[str, str], _Window] = {}

    def take(self, told: AlertCase, now: float) -> Alert | None:
        """Return the alert to send now if this is the first of its window."""
        case = self._case(told)
        window = self._open.get(case)
        if window is None:
            self._open[case] = _Window(told, now + self._window_s)
            return self._alert(told, now, count=1)
        window.last = told
        window.count += 1
        return None

    def due(self, now: float) -> list[Alert]:
        """Return the alerts with the counts of windows that are over."""
        alerts = []
        for case, window in list(self._open.items()):
            if window.ends > now:
                continue
            if not window.count:
                del self._open[case]
                continue
            alerts.append(self._alert(window.last, now, count=window.count))
            window.ends, window.count = now + self._window_s, 0
        return alerts

    def next_end(self) -> float | None:
        """Return when the next window ends."""
        return min((window.ends for window in self._open.values()), default=None)

    def _case(self, told: AlertCase) -> tuple[str, str]:
        case = (told.kind, told.about)
        if case in self._open or len(self._open) < _MOST_CASES:
            return case
        return (told.kind, _OTHERS)

    def _alert(self, told: AlertCase, now: float, *, count: int) -> Alert:
        return Alert(
            id=self._make_id("a"),
            at=now,
            kind=told.kind,
            severity=told.severity,
            text=told.text,
            about=told.about,
            count=count,
        )
