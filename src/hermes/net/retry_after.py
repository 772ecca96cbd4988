"""How long a service asks to wait before the next call, in all forms of its headers; pure."""

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the service asks to wait, if it says so; milliseconds come first."""
    millis = finite_number(headers.get("Retry-After-Ms"))
    if millis is not None:
        return max(0.0, millis / 1000)
    text = headers.get("Retry-After")
    if text is None:
        return None
    seconds = finite_number(text)
    return max(0.0, seconds) if seconds is not None else _until(text, since=headers.get("Date"))


def finite_number(text: str | None) -> float | None:
    """Return the number in a text, or None if it is not a finite number."""
    try:
        found = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _until(text: str, *, since: str | None) -> float | None:
    """Return the seconds from the answer's own date, so that our clock need not be right."""
    try:
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(since or "")
    except (TypeError, ValueError):
        return None
    return max(0.0, wait.total_seconds())
