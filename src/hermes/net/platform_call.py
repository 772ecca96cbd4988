"""One call of a platform's API over the one client, its failures as delivery errors.

It is used by the channels, which read the answers; it knows no platform. Its callers' addresses
come from the operator's configuration.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from hermes.errors import (
    AddressRefused,
    ConnectFailed,
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NetError,
    NotDelivered,
)
from hermes.net.client import HttpClient
from hermes.net.retry_after import retry_after

MAX_ANSWER_BYTES: Final = 4 << 20
_NO_HEADERS: Final[Mapping[str, str]] = {}
_TOO_MANY = 429
_REJECTIONS: Final = {
    401: FailureClass.UNAUTHORIZED,
    403: FailureClass.UNAUTHORIZED,
    404: FailureClass.INVALID_RECIPIENT,
    410: FailureClass.INVALID_RECIPIENT,
}


class PlatformAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer; `retry_after` is the header in all its forms, in seconds."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = _NO_HEADERS
    retry_after: float | None = None

    @property
    def is_ok(self) -> bool:
        """Whether the platform reports success."""
        return 200 <= self.status < 300


async def call(
    client: HttpClient,
    method: str,
    url: str,
    *,
    platform: str,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    timeout_s: float | None = None,
    limit: int = MAX_ANSWER_BYTES,
) -> PlatformAnswer:
    """Return the platform's answer, whatever its status; raises an error if there is none.

    `NotDelivered`: nothing was sent. `DeliveryUnknown`: the request was sent and its answer was
    lost.
    """
    try:
        async with client.request(
            platform, method, url, headers=headers, body=body, timeout_s=timeout_s, trusted=True
        ) as response:
            status = response.status
            try:
                read = await response.read(limit)
            except NetError:
                if 200 <= status < 300:
                    raise
                # The status alone shows that the call was refused.
                read = b""
            wait = retry_after(response.headers)
            return PlatformAnswer(
                status=status, body=read, headers=response.headers, retry_after=wait
            )
    except (ConnectFailed, AddressRefused) as error:
        raise NotDelivered(str(error), FailureClass.SERVICE_UNAVAILABLE) from error
    except NetError as error:
        raise DeliveryUnknown(str(error), FailureClass.NETWORK_TIMEOUT) from error


def failure_of(answer: PlatformAnswer, *, platform: str, said: str = "") -> DeliveryError | None:
    """Return the error for an answer by its status alone, or None for a success.

    `said` is the platform's own code or text, masked and cut by the caller.
    """
    if answer.is_ok:
        return None
    status = f"{answer.status} {said}".strip()
    if answer.status == _TOO_MANY:
        return NotDelivered(
            f"{platform}: the rate limit is reached ({status}); it is sent again later",
            FailureClass.RATE_LIMITED,
            retry_after=answer.retry_after,
        )
    if answer.status >= 500:
        return NotDelivered(
            f"{platform}: the platform failed ({status}); it is sent again later",
            FailureClass.SERVICE_UNAVAILABLE,
            retry_after=answer.retry_after,
        )
    return DeliveryRejected(
        f"{platform}: the platform refused the call ({status}); correct the cause and replay the "
        "dead letter",
        _REJECTIONS.get(answer.status, FailureClass.REJECTED),
    )
