"""The Pigeon channel: webhooks in, bearer-authenticated calls out.

Fits `ports.channel.PushChannel` and `WebhookChannel`. It verifies and translates; the outbox
handles retries, key windows and order.
"""

import msgspec

from hermes.errors import ConfigurationError, Overloaded, Refused, TryLater
from hermes.http.errors import error_response
from hermes.http.json_body import json_response
from hermes.net.client import HttpClient
from hermes.plugins.manifest import load_capabilities
from hermes.ports.channel import (
    Accept,
    Capabilities,
    Delivery,
    HttpRequest,
    HttpResponse,
    Receipt,
    Target,
)
from hermes.ports.clock import Clock
from hermes.testing.push.client import SampleClient
from hermes.testing.push.inbound import SignatureCheck, read_event, to_event
from hermes.testing.push.outbound import check, edit_body, find_receipt, read_receipt, send_body
from hermes.testing.push.settings import ChannelSettings
from hermes.testing.push.state import KEY_WINDOW_S


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
        self._settings = settings
        self._clock = clock
        self._api = SampleClient(client, base_url=settings.base_url, token=settings.token)
        self._signatures = SignatureCheck(settings.signing_secret)
        self._accept: Accept | None = None
        self._capabilities = msgspec.structs.replace(
            capabilities or load_capabilities("hermes.testing.push"),
            edit=settings.edit,
            history=settings.history,
            key_window_s=KEY_WINDOW_S if settings.keys else 0.0,
        )

    @property
    def capabilities(self) -> Capabilities:
        """The platform's capabilities, depending on the server's options."""
        return self._capabilities

    async def connect(self, accept: Accept) -> None:
        """Start receiving; return once the platform has answered an authenticated call."""
        answer = await self._api.get("/v1/me")
        if answer.status in {401, 403}:
            raise ConfigurationError(
                f"platforms.pigeon.token: the platform answered {answer.status}, expected 200; "
                "set the token that belongs to this bot"
            )
        check(answer)
        self._accept = accept

    async def disconnect(self) -> None:
        """Stop receiving; the shared client keeps its own connections."""
        self._accept = None

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message; raises a `DeliveryError` subclass that says what is known."""
        body = send_body(delivery, keys=self._settings.keys)
        return read_receipt(await self._api.post("/v1/send", body))

    async def edit(self, target: Target, platform_message_id: str, *, text: str) -> None:
        """Replace the text of a message that was sent before."""
        check(await self._api.post("/v1/edit", edit_body(platform_message_id, text)))

    async def find(self, target: Target, key: str) -> Receipt | None:
        """Look the message up in the platform's history."""
        query = {"chat": target.chat_id, "limit": "100"}
        return find_receipt(await self._api.get("/v1/history", query=query), key)

    async def webhook(self, request: HttpRequest) -> HttpResponse:
        """Handle one webhook call: check its authenticity, pass it to the inbox, answer."""
        try:
            return await self._receive(request)
        except (Refused, TryLater) as error:
            return error_response(error)

    async def _receive(self, request: HttpRequest) -> HttpResponse:
        self._signatures.check(request.headers, request.body, now=self._clock.now())
        if self._accept is None:
            raise Overloaded("pigeon is not connected; send the webhook again", retry_after=1.0)
        wire = read_event(request.body)
        event = to_event(wire, platform=self.name, account=self._settings.account, raw=request.body)
        if event is None:
            return json_response({"ignored": wire.type})
        accepted = await self._accept(event)
        return json_response({"message_id": accepted.message_id, "duplicate": accepted.duplicate})
