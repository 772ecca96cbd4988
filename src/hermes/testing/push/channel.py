"""The Pigeon channel: webhooks in, bearer-authenticated calls out.

Fits `ports.channel.PushChannel` and `WebhookChannel`. It verifies and translates; the outbox
handles retries, key windows and order.
"""

import msgspec

from hermes.channel_kit.api import Api
from hermes.channel_kit.bodies import decode
from hermes.channel_kit.refusals import as_shape
from hermes.channel_kit.webhook_door import WebhookDoor
from hermes.errors import ConfigurationError, DeliveryRejected, FailureClass
from hermes.http.json_body import json_response
from hermes.message.ids import make_id
from hermes.net.client import HttpClient
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import (
    Accept,
    Capabilities,
    Delivery,
    HttpRequest,
    HttpResponse,
    Receipt,
    Target,
)
from hermes.ports.channel_rows import WebhookRow
from hermes.ports.clock import Clock
from hermes.testing.push.inbound import WireEvent, to_event
from hermes.testing.push.outbound import send_body
from hermes.testing.push.settings import ChannelSettings
from hermes.testing.push.state import KEY_WINDOW_S


class _Sent(msgspec.Struct, frozen=True):
    message_id: str


class _Entry(_Sent, frozen=True):
    ref: str | None = None


class _History(msgspec.Struct, frozen=True):
    messages: tuple[_Entry, ...]


class SampleChannel:
    """One bot account on Pigeon."""

    name = "pigeon"

    def __init__(
        self,
        settings: ChannelSettings,
        client: HttpClient,
        *,
        clock: Clock,
        capabilities: Capabilities | None = None,
    ) -> None:
        manifest = load_manifest("hermes.testing.push")
        self._settings = settings
        self._api = Api(
            client,
            platform=self.name,
            base_url=settings.base_url,
            make_id=make_id,
            rows=manifest.rows,
            headers={"Authorization": f"Bearer {settings.token}"},
            masked=(settings.token,),
        )
        self._door = WebhookDoor(
            manifest.rows.webhook or WebhookRow(),
            platform=self.name,
            secrets={"signing_secret": settings.signing_secret},
            clock=clock,
            take=self._take,
        )
        self.capabilities = msgspec.structs.replace(
            capabilities or manifest.capabilities,
            edit=settings.edit,
            history=settings.history,
            key_window_s=KEY_WINDOW_S if settings.keys else 0.0,
        )

    async def connect(self, accept: Accept) -> None:
        """Start receiving; return once the platform has answered an authenticated call."""
        try:
            await self._api.call("GET", "/v1/me")
        except DeliveryRejected as error:
            if error.failure is not FailureClass.UNAUTHORIZED:
                raise
            raise ConfigurationError(
                f"platforms.pigeon.token: {error}; set the token that belongs to this bot"
            ) from error
        self._door.open(accept)

    async def disconnect(self) -> None:
        """Stop receiving; the shared client keeps its own connections."""
        await self._door.close()

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message; raises a `DeliveryError` subclass that says what is known."""
        body = send_body(delivery, keys=self._settings.keys)
        found = await self._api.call("POST", "/v1/send", json=body)
        return Receipt(as_shape(found, _Sent, platform=self.name).message_id)

    async def edit(self, target: Target, platform_message_id: str, *, text: str) -> None:
        """Replace the text of a message that was sent before."""
        body = {"message_id": platform_message_id, "text": text}
        await self._api.call("POST", "/v1/edit", json=body)

    async def find(self, target: Target, key: str) -> Receipt | None:
        """Look the message up in the platform's history."""
        query = {"chat": target.chat_id, "limit": "100"}
        found = await self._api.call("GET", "/v1/history", query=query)
        entries = as_shape(found, _History, platform=self.name).messages
        return next((Receipt(one.message_id) for one in entries if one.ref == key), None)

    async def webhook(self, request: HttpRequest) -> HttpResponse:
        """Handle one webhook call: check its authenticity, pass it to the inbox, answer."""
        return await self._door.answer(request)

    async def _take(self, request: HttpRequest, accept: Accept) -> HttpResponse:
        wire = decode(request.body, WireEvent, platform=self.name)
        event = to_event(wire, platform=self.name, account=self._settings.account, raw=request.body)
        if event is None:
            return json_response({"ignored": wire.type})
        accepted = await accept(event)
        return json_response({"message_id": accepted.message_id, "duplicate": accepted.duplicate})
