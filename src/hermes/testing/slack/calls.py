"""The stand-in's Events API over HTTP: signed calls, repeated until they are answered 2xx."""

import asyncio
import hashlib
import hmac
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

import aiohttp
import msgspec

from hermes.ports.clock import Clock
from hermes.testing.stand_in import no_rejections

Json = dict[str, Any]
_TRIES = 120


class Calls:
    """Calls one Request URL."""

    def __init__(
        self,
        secret: str,
        *,
        clock: Clock,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        wait_s: float = 0.25,
    ) -> None:
        self._secret = secret
        self._clock = clock
        self._sleep = sleep
        self._wait_s = wait_s
        self._session: aiohttp.ClientSession | None = None
        self._stamps: dict[bytes, int] = {}
        self._is_verified = False
        self.url: str | None = None
        self.statuses: list[int] = []
        self.rejections = no_rejections()

    async def event(self, call: Json) -> None:
        """Report an event."""
        await self._verify()
        await self._deliver(msgspec.json.encode(call), "application/json")

    async def form(self, fields: Json) -> None:
        """Send a slash command or, as its `payload`, a pressed button; Slack does not
        repeat these.
        """
        body = urlencode(fields).encode()
        await self.post(body, "application/x-www-form-urlencoded")

    async def _verify(self) -> None:
        """Send the challenge, as Slack does when the Request URL is set."""
        while not self._is_verified:
            challenge = {"type": "url_verification", "token": "deprecated", "challenge": "3eZbrw1a"}
            body = msgspec.json.encode(challenge)
            status, answer, _ = await self.post(body, "application/json")
            self._is_verified = status == 200 and b"3eZbrw1a" in answer
            if status not in (0, 503) and not self._is_verified:
                self.rejections.append(f"events: the challenge was answered {status}")
                return
            if not self._is_verified:
                await self._sleep(self._wait_s)

    async def _deliver(self, body: bytes, kind: str) -> None:
        for attempt in range(_TRIES):
            status, _, headers = await self.post(body, kind, attempt=attempt)
            if 200 <= status < 300 or headers.get("X-Slack-No-Retry") == "1":
                return
            await self._sleep(self._wait_s)

    async def post(
        self, body: bytes, kind: str, *, attempt: int = 0, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        """Post once; return the status (0 if there was no answer), the body and the headers."""
        if self.url is None:
            raise AssertionError("point_at says where events go")
        if self._session is None:
            self._session = aiohttp.ClientSession()
        sent = self.headers(body, kind) if headers is None else headers
        if attempt:
            sent |= {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": "http_error"}
        limit = aiohttp.ClientTimeout(total=3.0)
        try:
            async with self._session.post(
                self.url, data=body, headers=sent, timeout=limit
            ) as answer:
                read = await answer.read()
                self.statuses.append(answer.status)
                told = {name.title(): value for name, value in answer.headers.items()}
                return answer.status, read, told
        except (aiohttp.ClientError, TimeoutError, OSError):
            self.statuses.append(0)
            return 0, b"", {}

    def headers(self, body: bytes, kind: str) -> dict[str, str]:
        """Return the headers of a new call; no two calls of one body have the same time."""
        stamp = max(int(self._clock.now()), self._stamps.get(body, 0) + 1)
        self._stamps[body] = stamp
        signed = b"v0:%d:" % stamp + body
        mac = hmac.new(self._secret.encode(), signed, hashlib.sha256).hexdigest()
        return {
            "Content-Type": kind,
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            "X-Slack-Request-Timestamp": str(stamp),
            "X-Slack-Signature": f"v0={mac}",
        }

    async def close(self) -> None:
        """Release the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None
