"""How the stand-in platform sends messages to Hermes: signed, and repeated until answered."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from hermes.ports.channel import HttpRequest
from hermes.ports.clock import Clock
from hermes.testing.event_delivery import PushRow, SignedPush, proof_signer
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
    """Return the value of `X-Pigeon-Signature`; the timestamp counts milliseconds."""
    call = HttpRequest(method="POST", path="", query={}, headers={}, body=body)
    signed = proof_signer("hermes.testing.push", secret)(call, int(timestamp) / 1000)
    return signed.headers["x-pigeon-signature"]


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
        self._sign = proof_signer("hermes.testing.push", settings.signing_secret)
        self._push = SignedPush(PushRow(), self._signed, clock=clock)
        self._bodies: dict[str, bytes] = {}
        self._stamp_ms = 0
        self.url = settings.webhook_url

    async def close(self) -> None:
        """Release the connections."""
        await self._push.close()

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

    async def post(self, body: bytes) -> int:
        """Post one signed body once; return the status, 0 if there was no answer."""
        self._push.url = self.url
        return 0 if self.url is None else (await self._push.post(body)).status

    def _signed(self, call: HttpRequest, now: float) -> HttpRequest:
        # Two calls within one tick of the clock must not look like a replay.
        self._stamp_ms = max(round(now * 1000), self._stamp_ms + 1)
        return self._sign(call, self._stamp_ms / 1000)


def numbered(chat: str, texts: Sequence[str], *, user: str = "u1") -> tuple[InboundMessage, ...]:
    """Return messages of one chat with event ids made from their index."""
    return tuple(
        InboundMessage(chat=chat, user=user, text=text, event_id=f"{chat}-{index}")
        for index, text in enumerate(texts)
    )
