"""Turns a platform's refused answer into a delivery error, by the rows of its manifest.

The first row that fits counts; if none does, the HTTP status says what follows. The sentences are
written here, so that every platform tells the same thing in the same words. Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from hermes.errors import (
    ConfigurationError,
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    HermesError,
    NotDelivered,
)
from hermes.net.platform_call import PlatformAnswer, failure_of
from hermes.ports.channel import Receipt
from hermes.ports.channel_rows import AnswerRow, RefusalRow

_LONGEST_CODE: Final = 60
_LONGEST_SENTENCE: Final = 200
_LONGEST_WAIT_S: Final = 86_400.0
_CORRECT_IT: Final = "correct the cause and replay the dead letter"

Mask = Callable[[str], str]
T = TypeVar("T")


class ApiAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a platform's answer says: its object, whether the call succeeded, and why not.

    `found` is None if the body is not JSON, and an empty object if there is no body.
    """

    status: int
    found: Any = None  # Any: each call of each platform has its own answer.
    ok: bool = False
    code: str = ""
    sentence: str = ""
    retry_after: float | None = None
    headers: Mapping[str, str] = {}


def read_answer(answer: PlatformAnswer, row: AnswerRow, *, mask: Mask = str) -> ApiAnswer:
    """Return what an answer says; what it says in words is masked, on one line, and cut."""
    found = _decoded(answer.body)
    ok = answer.is_ok and (not row.ok or _is_success(field_of(found, row.ok)))
    seconds = _seconds(field_of(found, row.wait), unit=row.wait_unit) if row.wait else None
    return ApiAnswer(
        status=answer.status,
        found=found,
        ok=ok,
        code=_words(field_of(found, row.code), _LONGEST_CODE, mask) if row.code else "",
        sentence=_words(field_of(found, row.says), _LONGEST_SENTENCE, mask) if row.says else "",
        retry_after=answer.retry_after if seconds is None else seconds,
        headers=answer.headers,
    )


def failure_by(
    said: ApiAnswer, rows: Sequence[RefusalRow], *, platform: str, method: str = ""
) -> DeliveryError | None:
    """Return the error for a refused call; None for a success, also for one by a row (`done`)."""
    if said.ok:
        return None
    row = next((one for one in rows if _fits(one, said, method)), None)
    if row is not None:
        return _by_row(row, said, platform=platform, method=method)
    words = _told(said)
    if 200 <= said.status < 300 and not words:
        return unreadable(platform, said, method=method)
    if 200 <= said.status < 300:
        return DeliveryRejected(
            f"{_called(platform, method)} was refused ({words}); {_CORRECT_IT}",
            FailureClass.REJECTED,
        )
    status_alone = PlatformAnswer(status=said.status, retry_after=said.retry_after)
    return failure_of(status_alone, platform=platform, said=words)


def unreadable(platform: str, said: ApiAnswer, *, method: str = "") -> DeliveryUnknown:
    """Return the error of a success that cannot be read: the message may have arrived."""
    return DeliveryUnknown(
        f"{_called(platform, method)} was answered {said.status} with something that cannot be read; "
        "it may have succeeded, or something between here and the platform answered for it",
        FailureClass.SERVICE_UNAVAILABLE,
    )


def final_error(error: DeliveryError, *, setting: str) -> HermesError:
    """Return the error that ends a channel whose credential is refused, by its setting; else `error`."""
    if isinstance(error, DeliveryRejected) and error.credential:
        return ConfigurationError(f"{setting}: {error}")
    return error


def as_shape(found: object, shape: type[T], *, platform: str, method: str = "") -> T:
    """Return the answer of a success in its shape; raise `DeliveryUnknown` if it has another."""
    try:
        return msgspec.convert(found, shape)
    except msgspec.ValidationError:
        raise unreadable(platform, ApiAnswer(status=200), method=method) from None


# Any: each platform answers with its own fields.
def receipt_at(found: Any, path: str, *, platform: str) -> Receipt:
    """Return the receipt of a sent message by its id in the answer; raise if the answer names none."""
    message_id = field_of(found, path)
    if not isinstance(message_id, str) or not message_id:
        raise unreadable(platform, ApiAnswer(status=200))
    return Receipt(message_id)


# Any: both sides are JSON.
def field_of(found: Any, path: str) -> Any:
    """Return the value at a path of names and list numbers, separated by dots; None without one."""
    for name in path.split("."):
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found


def _by_row(
    row: RefusalRow, said: ApiAnswer, *, platform: str, method: str
) -> DeliveryError | None:
    head = f"{_called(platform, method)} was refused ({f'{said.status} {_told(said)}'.strip()})"
    if row.then == "done":
        return None
    if row.then == "retry":
        hint = f": {row.hint}" if row.hint else ""
        return NotDelivered(
            f"{head}{hint}; it is sent again later",
            row.failure,
            retry_after=said.retry_after if said.retry_after is not None else row.wait_s or None,
            platform_wide=row.wide,
        )
    if row.then == "unknown":
        return DeliveryUnknown(f"{head}; it may have succeeded all the same", row.failure)
    return DeliveryRejected(
        f"{head}; {row.hint or _CORRECT_IT}", row.failure, credential=row.credential
    )


def _fits(row: RefusalRow, said: ApiAnswer, method: str) -> bool:
    return (
        (not row.call or method in row.call.split())
        and (not row.status or row.status == said.status)
        and (not row.code or said.code in row.code.split())
        and (not row.says or _says_one_of(said.sentence.lower(), row.says))
        and (not row.has or field_of(said.found, row.has) is True)
    )


def _says_one_of(sentence: str, pieces: str) -> bool:
    return any(piece.strip() in sentence for piece in pieces.split("|"))


def _told(said: ApiAnswer) -> str:
    """Return the code and the sentence, without what only repeats the status or says that there is no code."""
    status = str(said.status)
    code = "" if said.code in (status, "0") else said.code
    sentence = said.sentence.removeprefix(f"{status}: ")
    return " ".join(word for word in (code, sentence) if word)


def _called(platform: str, method: str) -> str:
    return f"{platform}: {method or 'the call'}"


def _decoded(body: bytes) -> Any:
    if not body.strip():
        return {}
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _is_success(value: object) -> bool:
    return value is True or (not isinstance(value, bool) and value == 0)


def _seconds(value: object, *, unit: str) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return min(_LONGEST_WAIT_S, max(0.0, value / 1000 if unit == "ms" else float(value)))


def _words(value: object, longest: int, mask: Mask) -> str:
    if not isinstance(value, str | int) or isinstance(value, bool):
        return ""
    return " ".join(mask(str(value)).split())[:longest]
