"""What a model service's answer other than 200 means: its own words, short and without secrets.

It sits under every provider that speaks HTTP and knows no dialect: it reads the shapes in which
services wrap a message, and the headers by which they ask for patience.
"""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import msgspec

from hermes.errors import ProviderError, ProviderRejected, ProviderUnavailable

MAX_ERROR_BYTES = 65_536
_MAX_TEXT = 500
# 402: this account is out of money; 408, 409, 425, 429: not now. Another candidate may do.
_NOT_NOW = frozenset({402, 408, 409, 425, 429})
_KEY_LOOK = re.compile(r"\b(?:sk|rk|pk)-[\w*.-]{4,}|(?<=[Bb]earer )\S+")
_SPACE = re.compile(r"\s+")


class _Detail(msgspec.Struct):
    message: str | None = None


class _Body(msgspec.Struct):
    error: _Detail | str | None = None
    message: str | None = None
    detail: str | None = None


def failure(
    name: str, status: int, *, headers: Mapping[str, str], body: bytes, secret: str | None
) -> ProviderError:
    """Return the error that the answer `status` stands for."""
    said = mask(words_of(body), secret=secret) or "it gave no reason"
    if status in _NOT_NOW or status >= 500:
        return ProviderUnavailable(
            f"{name}: the service answered {status}: {said}", retry_after=retry_after(headers)
        )
    if 300 <= status < 400:
        return ProviderRejected(
            f"{name}: the service answered {status}, a redirect, which is not followed: set"
            f" providers.{name}.base_url to the final address"
        )
    return ProviderRejected(f"{name}: the service refused the request with {status}: {said}")


def mask(text: str, *, secret: str | None) -> str:
    """Return `text` on one line, cut, and without the key or anything that looks like one."""
    if secret:
        text = text.replace(secret, "****")
    return _SPACE.sub(" ", _KEY_LOOK.sub("****", text)).strip()[:_MAX_TEXT]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the service asks to wait, if it says so; milliseconds come first."""
    millis = _number(headers.get("Retry-After-Ms"))
    if millis is not None:
        return max(0.0, millis / 1000)
    text = headers.get("Retry-After")
    if text is None:
        return None
    seconds = _number(text)
    return max(0.0, seconds) if seconds is not None else _until(text, since=headers.get("Date"))


def words_of(body: bytes) -> str:
    """Return the message inside an error body, or the body itself when it is no JSON."""
    try:
        found = msgspec.json.decode(body, type=_Body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return body.decode(errors="replace")
    if isinstance(found.error, _Detail):
        return found.error.message or ""
    return found.error or found.message or found.detail or ""


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None


def _until(text: str, *, since: str | None) -> float | None:
    """Return the seconds from the answer's own date, so that no clock of ours has to be right."""
    try:
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(since or "")
    except (TypeError, ValueError):
        return None
    return max(0.0, wait.total_seconds())
