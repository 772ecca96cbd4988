"""The webhook channel: signed events in, signed replies out.

Fits `ports.channel.PushChannel` and `WebhookChannel`. A route without a `reply_url` is one-way: its
events are processed, and the agent's answers are kept.
"""

from collections.abc import Mapping

import msgspec
import structlog

from hermes.channel_kit.attachments import read_attachment
from hermes.channel_kit.kept_map import KeptMap
from hermes.channels.webhook.inbound import is_kind_free, to_event
from hermes.channels.webhook.outbound import (
    PLATFORM,
    WebhookFile,
    check,
    media_in,
    nowhere,
    post_of,
    with_content,
    without_content,
)
from hermes.channels.webhook.settings import Route, read_routes
from hermes.channels.webhook.signatures import SignedCall, glance
from hermes.channels.webhook.signatures import check as check_signature
from hermes.errors import (
    DeliveryRejected,
    NotFound,
    Overloaded,
    Refused,
    Skipped,
    TryLater,
)
from hermes.http.errors import error_response, wrong_method
from hermes.http.json_body import json_response
from hermes.message.parts import Media
from hermes.net.platform_call import call
from hermes.ports.channel import (
    Accept,
    Capabilities,
    Delivery,
    HttpRequest,
    HttpResponse,
    Receipt,
    Target,
)
from hermes.ports.channel_setup import ChannelSetup

log = structlog.get_logger(__name__)

_KEY_WINDOW_S = 86_400.0
_MOST_IGNORED = 10_000


class WebhookRoutes:
    """All routes of generic webhooks."""

    name = PLATFORM

    def __init__(self, setup: ChannelSetup) -> None:
        self._setup = setup
        self._routes = read_routes(setup.settings["routes"])
        self._accept: Accept | None = None
        self._ignored = KeptMap(setup.state, "ignored:", most=_MOST_IGNORED)
        window = _KEY_WINDOW_S if setup.settings["deduplicates"] else 0.0
        self._capabilities = msgspec.structs.replace(setup.capabilities, key_window_s=window)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of webhooks, depending on the receivers."""
        return self._capabilities

    async def connect(self, accept: Accept) -> None:
        """Start receiving; there is nothing to connect to."""
        self._accept = accept

    async def disconnect(self) -> None:
        """Stop receiving."""
        self._accept = None

    async def webhook(self, request: HttpRequest) -> HttpResponse:
        """Handle one call: check its authenticity, pass it to the inbox, answer."""
        try:
            return await self._receive(request)
        except Skipped:
            return json_response({"ignored": "skipped"})
        except (Refused, TryLater) as error:
            return error_response(error)

    def glance(self, headers: Mapping[str, str], *, path: str) -> None:
        """Raise for a call to an unknown route, or an unsigned one."""
        _, route = self._named(path)
        glance(route, headers, now=self._setup.clock.now())

    def _named(self, path: str) -> tuple[str, Route]:
        name = path.rstrip("/").rpartition("/")[2]
        route = self._routes.get(name)
        if route is None:
            raise NotFound(f"no route {name[:64]!r} is configured under platforms.webhook.routes")
        return name, route

    async def _receive(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST":
            return wrong_method(request.method, "POST")
        name, route = self._named(request.path)
        now = self._setup.clock.now()
        signed = check_signature(route, request.headers, request.body, now=now)
        if self._accept is None:
            raise Overloaded("webhooks are not accepted right now; send it again", retry_after=1.0)
        external_id = signed.id or self._setup.make_id("w")
        event = to_event(
            name, route, signed=signed, body=request.body, external_id=external_id, at=now
        )
        if event is None or await self._was_ignored(route, signed):
            await self._note_ignored(route, signed)
            return json_response({"ignored": "this route does not handle such events"})
        accepted = await self._accept(event)
        told = {"message_id": accepted.message_id, "duplicate": accepted.duplicate}
        return json_response(told, status=202)

    async def _was_ignored(self, route: Route, signed: SignedCall) -> bool:
        """Return whether this content came before with a kind that the route does not handle."""
        if not is_kind_free(route):
            return False
        return await self._ignored.get(signed.content_key) is not None

    async def _note_ignored(self, route: Route, signed: SignedCall) -> None:
        """Remember what was ignored, so that a changed header cannot make it count later."""
        if is_kind_free(route):
            await self._ignored.put(signed.content_key, "")

    async def send(self, delivery: Delivery) -> Receipt:
        """Post one reply to the address of its route."""
        route = self._route_of(delivery.target)
        attached = tuple([await self._read(media, delivery) for media in media_in(delivery)])
        post = post_of(delivery, route, at=int(self._setup.clock.now()), attached=attached)
        check(
            await call(
                self._setup.client,
                "POST",
                route.reply_url,
                platform=PLATFORM,
                headers=post.headers,
                body=post.body,
            )
        )
        return Receipt(delivery.key)

    async def _read(self, media: Media, delivery: Delivery) -> WebhookFile:
        """Return an attachment with its bytes; if it is gone, name it and send the text."""
        limit = self._capabilities.media_bytes
        try:
            data = await read_attachment(self._setup.media, media, limit=limit, platform=PLATFORM)
        except DeliveryRejected as error:
            log.warning("webhook.not_attached", delivery=delivery.id, problem=str(error))
            return without_content(media)
        return with_content(media, data)

    def _route_of(self, target: Target) -> Route:
        route = self._routes.get(target.chat_id)
        if route is None or not route.reply_url:
            raise nowhere(target.chat_id)
        return route


def make(setup: ChannelSetup) -> WebhookRoutes:
    """Return the channel; raise `ConfigurationError` for settings that do not fit."""
    return WebhookRoutes(setup)
