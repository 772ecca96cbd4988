"""What an answer other than 200 means: Google's own words, shortened and without secrets."""

import re
from collections.abc import Mapping

import msgspec

from hermes.errors import ProviderError, ProviderUnavailable
from hermes.net.retry_after import retry_after
from hermes.provider_kit import service_failure

# 402: this account is out of money; 408, 409, 425, 429, 499: not now. Another candidate may do.
_NOT_NOW = frozenset({402, 408, 409, 425, 429, 499})
# The account may not be served here (its place, its billing): the request itself is not at fault.
_ACCOUNT = "FAILED_PRECONDITION"
_KEY_LOOK = re.compile(r"\bAIza[\w-]{8,}|\bAQ\.[\w-]{8,}|(?<=[?&]key=)[^&\s\"]+")


class _Info(msgspec.Struct, rename="camel"):
    retry_delay: str | None = None


class _Status(msgspec.Struct, frozen=True):
    """A `google.rpc.Status` as JSON."""

    message: str | None = None
    status: str | None = None
    details: list[_Info] | None = None


class _Body(msgspec.Struct):
    error: _Status = _Status()


def failure(
    name: str,
    status: int,
    *,
    headers: Mapping[str, str],
    body: bytes,
    secret: str | None,
    absent: str = "",
) -> ProviderError:
    """Return the error that the answer `status` stands for; `absent` says what helps after a 404."""
    told = _status_of(body)
    words = told.message or service_failure.words_of(body)
    said = mask(words, secret=secret)
    if status in _NOT_NOW or status >= 500 or told.status == _ACCOUNT:
        return ProviderUnavailable(
            f"{name}: the service answered {status}: {said or 'it gave no reason'}",
            retry_after=_retry_after(headers, told),
            status=status,
        )
    # Words that are not Google's own, such as a proxy's page, stay what they are: no JSON.
    plain = msgspec.json.encode({"message": said}) if told.message else said.encode()
    return service_failure.failure(
        name, status, headers=headers, body=plain, secret=secret, absent=absent
    )


def mask(text: str, *, secret: str | None) -> str:
    """Return `text` on one line, cut, and without the key or anything that looks like one."""
    if secret:
        text = text.replace(secret, "****")
    return service_failure.mask(_KEY_LOOK.sub("****", text), secret=None)


def _status_of(body: bytes) -> _Status:
    """Return the error inside a body; what is no JSON of Google's becomes its message."""
    try:
        found = msgspec.json.decode(body, type=_Body | list[_Body])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _Status()
    if isinstance(found, _Body):
        return found.error
    return found[0].error if found else _Status()


def _retry_after(headers: Mapping[str, str], told: _Status) -> float | None:
    """Return the seconds that the service asks to wait: in the header, or in its `RetryInfo`."""
    wait = retry_after(headers)
    if wait is not None:
        return wait
    for info in told.details or ():
        if info.retry_delay is not None:
            # A protobuf duration: seconds with an `s` behind them.
            return retry_after({"Retry-After": info.retry_delay.removesuffix("s")})
    return None
