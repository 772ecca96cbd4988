"""Pigeon's sockets: one authenticated call over the shared client, its failures translated."""

from collections.abc import Mapping
from urllib.parse import urlencode

from hermes.errors import (
    AddressRefused,
    ConnectFailed,
    DeliveryUnknown,
    FailureClass,
    NetError,
    NotDelivered,
)
from hermes.net.calls import Response
from hermes.net.client import HttpClient
from hermes.testing.push.outbound import Answer

_MOST_BYTES = 1 << 20


class SampleClient:
    """Calls the platform's API."""

    def __init__(self, client: HttpClient, *, base_url: str, token: str) -> None:
        self._client = client
        self._base_url = base_url.rstrip("/")
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
        }

    async def get(self, path: str, *, query: Mapping[str, str] | None = None) -> Answer:
        """Send a GET; raise a `DeliveryError` if there is no answer."""
        suffix = f"?{urlencode(query)}" if query else ""
        return await self._call("GET", path + suffix, body=None)

    async def post(self, path: str, body: bytes) -> Answer:
        """Send a POST; raise a `DeliveryError` that says whether it may have taken effect."""
        return await self._call("POST", path, body=body)

    async def _call(self, method: str, path: str, *, body: bytes | None) -> Answer:
        try:
            async with self._client.request(
                "pigeon",
                method,
                self._base_url + path,
                headers=self._headers,
                body=body,
                trusted=True,
            ) as response:
                return await _read(response)
        except (ConnectFailed, AddressRefused) as error:
            raise NotDelivered(str(error), FailureClass.SERVICE_UNAVAILABLE) from error
        except NetError as error:
            raise DeliveryUnknown(str(error), FailureClass.NETWORK_TIMEOUT) from error


async def _read(response: Response) -> Answer:
    retry_after = _seconds(response.headers.get("Retry-After"))
    if 200 <= response.status < 300:
        return Answer(response.status, await response.read(_MOST_BYTES), retry_after)
    try:
        body = await response.read(_MOST_BYTES)
    except NetError:
        # The status alone says that the call was refused.
        body = b""
    return Answer(response.status, body, retry_after)


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        return None
