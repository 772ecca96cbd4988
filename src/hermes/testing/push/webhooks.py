"""How the stand-in platform sends messages to Hermes: signed, and repeated until answered."""

import asyncio
import hashlib
import hmac
from collections.abc import Awaitable, Callable, Sequence

import aiohttp
import msgspec

from hermes.ports.clock import Clock
from hermes.testing.push.state import SampleSettings
from hermes.testing.push.tally import Tally


class InboundMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message from a person to the bot."""

    chat: str
    user: str
    text: str
    event_id: str
    chat_type: str = "dm"
    user_name: str | None = None
    pictures: tuple[str, ...] = ()
    album: str | None = None


class InboundBatch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Messages to deliver: each `copies` times, in `order` (indexes), or all at once."""

    messages: tuple[InboundMessage, ...]
    copies: int = 1
    order: tuple[int, ...] | None = None
    parallel: bool = False


def sign(secret: str, timestamp: str, *, body: bytes) -> str:
    """Return the value of `X-Pigeon-Signature`."""
    mac = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"v1={mac.hexdigest()}"


def event_body(message: InboundMessage, *, sent_at: float) -> bytes:
    """Return the webhook's body; the same event always has the same bytes."""
    shown = {"pictures": message.pictures, "album": message.album} if message.pictures else {}
    return msgspec.json.encode(
        {
            "event_id": message.event_id,
            "type": "message",
            "chat": {"id": message.chat, "type": message.chat_type},
            "user": {"id": message.user, "name": message.user_name},
            "text": message.text,
            "sent_at": sent_at,
            **shown,
        }
    )


class Webhooks:
    """Delivers inbound messages to one address."""

    def __init__(
        self,
        settings: SampleSettings,
        *,
        clock: Clock,
        tally: Tally,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._tally = tally
        self._sleep = sleep
        self._session: aiohttp.ClientSession | None = None
        self._bodies: dict[str, bytes] = {}
        self._stamped = 0.0
        self.url = settings.webhook_url

    async def close(self) -> None:
        """Release the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def deliver(self, batch: InboundBatch) -> list[int]:
        """Deliver a batch; return the last status of each delivery (0: never answered)."""
        order = batch.order if batch.order is not None else range(len(batch.messages))
        calls = [batch.messages[index] for index in order for _ in range(batch.copies)]
        if batch.parallel:
            return list(await asyncio.gather(*(self.tell(message) for message in calls)))
        return [await self.tell(message) for message in calls]

    async def tell(self, message: InboundMessage) -> int:
        """Deliver one message, repeated until it is answered with 2xx or the tries are used up."""
        body = self._bodies.setdefault(
            message.event_id, event_body(message, sent_at=self._clock.now())
        )
        status = 0
        for _ in range(self._settings.webhook_tries):
            status = await self.post(body)
            self._tally.add(
                op="webhook", event_id=message.event_id, status=status, at=self._clock.now()
            )
            if 200 <= status < 300:
                return status
            await self._sleep(self._settings.webhook_delay_s)
        return status

    async def post(self, body: bytes, *, headers: dict[str, str] | None = None) -> int:
        """Post one signed body once; return the status, 0 if there was no answer."""
        if self.url is None:
            return 0
        if self._session is None:
            self._session = aiohttp.ClientSession()
        try:
            async with self._session.post(
                self.url,
                data=body,
                headers=headers or self.headers(body),
                timeout=aiohttp.ClientTimeout(total=10),
            ) as answer:
                await answer.read()
                return answer.status
        except (aiohttp.ClientError, TimeoutError, OSError):
            return 0

    def headers(self, body: bytes) -> dict[str, str]:
        """Return the headers of a new call; every call has its own timestamp."""
        # Two calls within one tick of the clock must not look like a replay.
        self._stamped = max(self._clock.now(), self._stamped + 1e-6)
        timestamp = f"{self._stamped:.6f}"
        return {
            "Content-Type": "application/json",
            "X-Pigeon-Timestamp": timestamp,
            "X-Pigeon-Signature": sign(self._settings.signing_secret, timestamp, body=body),
        }


def numbered(chat: str, texts: Sequence[str], *, user: str = "u1") -> tuple[InboundMessage, ...]:
    """Return messages of one chat with event ids made from their index."""
    return tuple(
        InboundMessage(chat=chat, user=user, text=text, event_id=f"{chat}-{index}")
        for index, text in enumerate(texts)
    )
