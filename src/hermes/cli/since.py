"""The `--since` option: a day, or how long ago."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import typer

from hermes.cli.environment import settings_for
from hermes.cli.terminal import Home
from hermes.ports.clock import SystemClock

_AGO = re.compile(r"(\d{1,6})([smhd])")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def since_time(text: str | None, home: Home) -> float | None:
    """Return the time that a text means, or None for no text."""
    if text is None:
        return None
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return SystemClock().now() - int(ago[1]) * _SECONDS[ago[2]]
    try:
        day = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a time: expected a day such as 2026-11-01, or 30m, 12h, 7d"
        ) from None
    zone = settings_for(home).settings.time_zone
    if day.tzinfo is None and zone is not None:
        day = day.replace(tzinfo=ZoneInfo(zone))
    return day.timestamp()
