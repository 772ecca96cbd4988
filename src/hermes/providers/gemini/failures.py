"""What an answer other than 200 means: Google's own text, shortened and without secrets."""

import re
from collections.abc import Mapping

import msgspec

from hermes.errors import ProviderError, ProviderUnavailable
from hermes.net.retry_after import retry_after
from hermes.provider_kit import service_failure

# 402: the account is out of money; 408, 409, 425, 429, 499: retry later. Another candidate may
# work.
_NOT_NOW = frozenset({402, 408, 409, 425, 429, 499})
# The account cannot be served (its location, its billing): the request is not at fault.
_ACCOUNT = (400, "FAILED_PRECONDITION")
_KEY_LOOK = re.compile(r"\bAIza[\w-]{8,}|\bAQ\.[\w-]{8,}|(?<=[?&]key=)[^&\s\"]+")


class _Violation(msgspec.Struct):
    field: str | None = None


class _Info(msgspec.Struct, rename="camel"):
    """Any of Google's details: when to try again, the exact reason, or the fields at fault."""

    retry_delay: str | None = None
    reason: str | None = None
    field_violations: list[_Violation] | None = None


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
    """Return the error for the answer `status`; `absent` is the advice after a 404."""
    told = _status_of(body)
    error = _failure(
        name, status, headers=headers, told=told, body=body, secret=secret, absent=absent
    )
    return _with_names(error, told, secret=secret)


def _failure(
    name: str,
    status: int,
    *,
    headers: Mapping[str, str],
    told: _Status,
    body: bytes,
    secret: str | None,
    absent: str,
) -> ProviderError:
    words = told.message or service_failure.words_of(body)
    said = mask(words, secret=secret)
    if status in _NOT_NOW or status >= 500 or (status, told.status) == _ACCOUNT:
        return ProviderUnavailable(
            f"{name}: the service answered {status}: {said or 'it gave no reason'}",
            retry_after=_retry_after(headers, told),
            status=status,
        )
    # Text that is not Google's own, such as a proxy's page, is not JSON and is kept unchanged.
    plain = msgspec.json.encode({"message": said}) if told.message else said.encode()
    return service_failure.failure(
        name, status, headers=headers, body=plain, secret=secret, absent=absent
    )


def _with_names(error: ProviderError, told: _Status, *, secret: str | None) -> ProviderError:
    """Add Google's own code, and the first field that it names, to the error."""
    details = told.details or ()
    reason = next((info.reason for info in details if info.reason), told.status)
    fields = [one.field for info in details for one in info.field_violations or () if one.field]
    code = service_failure.safe_code(reason, secret=secret)
    if code is None and not fields:
        return error  # not Google's JSON: whatever was found in it stays
    param = service_failure.safe_param(fields[0] if fields else None, secret=secret)
    return error.named(code, param)


def mask(text: str, *, secret: str | None) -> str:
    """Return `text` on one line, cut, and without the key or anything that looks like one."""
    if secret:
        text = text.replace(secret, "****")
    return service_failure.mask(_KEY_LOOK.sub("****", text), secret=None)


def _status_of(body: bytes) -> _Status:
    """Return the error inside a body; a body that is not Google's JSON becomes its message."""
    try:
        found = msgspec.json.decode(body, type=_Body | list[_Body])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Status()
    if isinstance(found, _Body):
        return found.error
    return found[0].error if found else _Status()


def _retry_after(headers: Mapping[str, str], told: _Status) -> float | None:
    """Return the seconds to wait, from the service's header or its `RetryInfo`."""
    wait = retry_after(headers)
    if wait is not None:
        return wait
    for info in told.details or ():
        if info.retry_delay is not None:
            # A protobuf duration: seconds followed by `s`.
            return retry_after({"Retry-After": info.retry_delay.removesuffix("s")})
    return None
