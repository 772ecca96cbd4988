"""The webhook channel: signed events in, signed replies out.

Fits `ports.channel.PushChannel` and `WebhookChannel`. A route without a `reply_url` is one-way: its
events are processed, and the agent's answers are kept.
"""

from collections.abc import Mapping
from functools import partial

import msgspec
import structlog

from hermes.channel_kit.attachments import attachments_of, read_attachment
from hermes.channel_kit.kept_map import KeptMap
from hermes.channel_kit.webhook_door import WebhookDoor
from hermes.channels.webhook.inbound import proof_of, signed_call, to_event
from hermes.channels.webhook.outbound import PostedFile, file_of, post_of
from hermes.channels.webhook.settings import PLATFORM, Route, read_routes
from hermes.errors import DeliveryRejected, FailureClass, NotFound, Skipped
from hermes.http.json_body import json_response
from hermes.message.parts import Media
from hermes.net.platform_call import call, failure_of
from hermes.ports.channel import Accept, Delivery, HttpRequest, HttpResponse, Receipt
from hermes.ports.channel_rows import WebhookRow
from hermes.ports.channel_setup import ChannelSetup

log = structlog.get_logger(__name__)
_KEY_WINDOW_S = 86_400.0
_MOST_IGNORED = 10_000


class WebhookRoutes:
    """All routes of generic webhooks."""

    def __init__(self, setup: ChannelSetup) -> None:
        self.name = setup.name
        self._setup = setup
        self._routes = read_routes(setup.settings["routes"])
        self._doors = {name: self._door(name, route) for name, route in self._routes.items()}
        self._ignored = KeptMap(setup.state, "ignored:", most=_MOST_IGNORED)
        window = _KEY_WINDOW_S if setup.settings["deduplicates"] else 0.0
        self.capabilities = msgspec.structs.replace(setup.capabilities, key_window_s=window)

    def _door(self, name: str, route: Route) -> WebhookDoor:
        row, proof = self._setup.rows.webhook, proof_of(route, self._setup.rows.proofs)
        return WebhookDoor(
            msgspec.structs.replace(row or WebhookRow(), proof=proof),
            platform=PLATFORM,
            secrets={"secret": route.secret},
            clock=self._setup.clock,
            take=partial(self._take, name),
        )

    async def connect(self, accept: Accept) -> None:
        """Start receiving; there is nothing to connect to."""
        for door in self._doors.values():
            door.open(accept)

    async def disconnect(self) -> None:
        """Stop receiving."""
        for door in self._doors.values():
            await door.close()

    async def webhook(self, request: HttpRequest) -> HttpResponse:
        """Handle one call: check its authenticity, pass it to the inbox, answer."""
        return await self._doors[self._named(request.path)].answer(request)

    def glance(self, headers: Mapping[str, str], *, path: str) -> None:
        """Raise for a call to an unknown route, or an unsigned one."""
        self._doors[self._named(path)].glance(headers, path=path)

    def _named(self, path: str) -> str:
        name = path.rstrip("/").rpartition("/")[2]
        if name not in self._routes:
            raise NotFound(f"no route {name[:64]!r} is configured under platforms.webhook.routes")
        return name

    async def _take(self, name: str, request: HttpRequest, accept: Accept) -> HttpResponse:
        route = self._routes[name]
        signed = signed_call(route, request)
        given, now = signed.id or self._setup.make_id("w"), self._setup.clock.now()
        event = to_event(name, route, signed=signed, body=request.body, external_id=given, at=now)
        if route.is_kind_free:
            known = await self._ignored.get(signed.content_key)
            if event is None or known is not None:
                # Else a header that nobody signed could make it count later.
                await self._ignored.put(signed.content_key, "")
                event = None
        if event is None:
            return json_response({"ignored": "this route does not handle such events"})
        try:
            accepted = await accept(event)
        except Skipped:
            return json_response({"ignored": "skipped"})
        told = {"message_id": accepted.message_id, "duplicate": accepted.duplicate}
        return json_response(told, status=202)

    async def send(self, delivery: Delivery) -> Receipt:
        """Post one reply to the address of its route."""
        setup, name = self._setup, delivery.target.chat_id
        route = self._routes.get(name)
        if route is None or not route.reply_url:
            raise DeliveryRejected(
                f"webhook: the route {name[:64]!r} has no reply_url (or is gone), so its answers are "
                "only kept; set platforms.webhook.routes.NAME.reply_url and replay the dead letter",
                FailureClass.INVALID_RECIPIENT,
            )
        attached = [await self._read(one, delivery) for one in attachments_of(delivery.parts)]
        proof, now = setup.rows.proofs["standard"], int(setup.clock.now())
        post = post_of(delivery, route, proof, at=now, attached=attached)
        url, headers = route.reply_url, post.headers
        answer = await call(
            setup.client, "POST", url, platform=PLATFORM, headers=headers, body=post.body
        )
        if failure := failure_of(answer, platform=PLATFORM):
            raise failure
        return Receipt(delivery.key)

    async def _read(self, media: Media, delivery: Delivery) -> PostedFile:
        """Return an attachment with its bytes; if it is gone, name it and send the text."""
        limit, data = self.capabilities.media_bytes, None
        try:
            data = await read_attachment(self._setup.media, media, limit=limit, platform=PLATFORM)
        except DeliveryRejected as error:
            log.warning("webhook.not_attached", delivery=delivery.id, problem=str(error))
        return file_of(media, data)


def make(setup: ChannelSetup) -> WebhookRoutes:
    """Return the channel; raise `ConfigurationError` for settings that do not fit."""
    return WebhookRoutes(setup)
