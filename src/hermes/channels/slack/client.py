"""Slack's Web API and its files over the one client: one call each, failures as delivery errors.

Addresses from Slack itself (uploads, files, sockets) are used only on Slack's own hosts or on that
of the configured API.
"""

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from yarl import URL

from hermes.channels.slack.inbound import PLATFORM
from hermes.channels.slack.outbound import Json, SlackRejected, read_answer
from hermes.errors import AddressRefused, DeliveryRejected, FailureClass
from hermes.net.client import HttpClient
from hermes.net.platform_call import call, failure_of

_JSON: Final = "application/json; charset=utf-8"
_FORM: Final = "application/x-www-form-urlencoded"
_SLACK: Final = ("slack.com", "slack-edge.com", "slack-files.com")
_UPLOAD_S: Final = 60.0


class SlackApi:
    """The Web API with one bot's token."""

    def __init__(
        self,
        client: HttpClient,
        *,
        base_url: str,
        token: str,
        on_refused: Callable[[SlackRejected], None],
    ) -> None:
        self._client = client
        self._on_refused = on_refused
        self._base = URL(base_url.rstrip("/"))
        self._token = token

    async def post(self, method: str, body: Json) -> Json:
        """Call a method that takes JSON."""
        return await self._call(method, msgspec.json.encode(body), kind=_JSON)

    async def form(
        self, method: str, body: Json, *, token: str | None = None, timeout_s: float | None = None
    ) -> Json:
        """Call a method with a form, which all methods accept; `token` replaces the bot's."""
        fields = {name: _field(value) for name, value in body.items()}
        data = urlencode(fields).encode()
        return await self._call(method, data, kind=_FORM, token=token, timeout_s=timeout_s)

    async def _call(
        self,
        method: str,
        body: bytes,
        *,
        kind: str,
        token: str | None = None,
        timeout_s: float | None = None,
    ) -> Json:
        headers = {"Authorization": f"Bearer {token or self._token}", "Content-Type": kind}
        answer = await call(
            self._client,
            "POST",
            f"{self._base}/{method}",
            platform=PLATFORM,
            headers=headers,
            body=body,
            timeout_s=timeout_s,
        )
        try:
            return read_answer(answer, method)
        except SlackRejected as error:
            if token is None:
                self._on_refused(error)
            raise

    async def upload(self, url: str, data: bytes) -> None:
        """Upload the bytes of a file to Slack's address; nobody sees them yet."""
        headers = {"Content-Type": "application/octet-stream"}
        answer = await call(
            self._client,
            "POST",
            self.own_address(url),
            platform=PLATFORM,
            headers=headers,
            body=data,
            timeout_s=_UPLOAD_S,
        )
        failure = failure_of(answer, platform=PLATFORM)
        if failure is not None:
            raise failure

    async def fetch(self, url: str, *, limit: int, mime: str) -> bytes:
        """Return the bytes of a shared file; raise above `limit`."""
        address = self.own_address(url)
        headers = {"Authorization": f"Bearer {self._token}"}
        async with self._client.request(
            PLATFORM, "GET", address, headers=headers, timeout_s=_UPLOAD_S, trusted=True
        ) as response:
            is_page = response.headers.get("Content-Type", "").startswith("text/html")
            if response.status != 200 or (is_page and mime != "text/html"):
                # Without the scope Slack shows its sign-in page, by a redirect or directly.
                raise DeliveryRejected(
                    f"slack: a shared file could not be read ({response.status}); the app needs the "
                    "scope files:read",
                    FailureClass.UNAUTHORIZED,
                )
            return await response.read(limit)

    def own_address(self, url: str) -> str:
        """Return an address from Slack; raise `AddressRefused` for other hosts."""
        try:
            found = URL(url)
        except ValueError:
            found = URL()
        is_plain = self._base.scheme == "http" and found.scheme in ("http", "ws")
        is_ours = found.raw_host == self._base.raw_host and found.port == self._base.port
        if found.scheme not in ("https", "wss") and not (is_plain and is_ours):
            raise AddressRefused("slack: an address that is not encrypted is not used")
        host = found.raw_host or ""
        if is_ours or any(host == own or host.endswith(f".{own}") for own in _SLACK):
            return url
        raise AddressRefused(f"slack: {host[:80]!r} is not a host of Slack; nothing was sent there")


def _field(value: Any) -> str:
    """Return an argument in form encoding."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
