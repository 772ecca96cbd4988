"""How long a service asks to wait before the next call, in all forms of its headers; pure."""

import math
import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

# Where services say how much of a rate limit is left, and when it is full again.
_LIMITS = (
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
)
_LONGEST = 100
_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|[dhms])")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the service asks to wait, if it says so; milliseconds come first."""
    millis = finite_number(headers.get("Retry-After-Ms"))
    if millis is not None:
        return max(0.0, millis / 1000)
    text = headers.get("Retry-After")
    if text is None:
        return rest_after(headers) or None
    seconds = finite_number(text)
    return max(0.0, seconds) if seconds is not None else _until(text, since=headers.get("Date"))


def rest_after(headers: Mapping[str, str]) -> float:
    """Return the seconds until a used-up rate limit is full again; 0 if none is used up."""
    rest = 0.0
    for remaining, reset in _LIMITS:
        if headers.get(remaining) == "0":
            rest = max(rest, _until_reset(headers.get(reset, ""), since=headers.get("Date")))
    return rest


def _until_reset(text: str, *, since: str | None) -> float:
    """Return the seconds in `6m0s`, in a number, or until an instant; 0 if it is none of them."""
    seconds = finite_number(text)
    if seconds is not None:
        return max(0.0, seconds)
    parts = _DURATION.findall(text[:_LONGEST])
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    try:
        wait = datetime.fromisoformat(text) - parsedate_to_datetime(since or "")
    except (TypeError, ValueError):
        return 0.0
    return max(0.0, wait.total_seconds())


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
