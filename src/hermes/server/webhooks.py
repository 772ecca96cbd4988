"""`/webhooks/{platform}`: hands a platform's call, raw and bounded, to its channel.

The channel authenticates the raw bytes; the server reads nothing into them.
"""

from collections.abc import Mapping

import msgspec
from starlette.routing import Route

from hermes.errors import NotFound
from hermes.net.http_route import Answer, Endpoint, Exchange
from hermes.ports.channel import HttpRequest, WebhookChannel


class WebhookLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How large a call may be, and how long it may take to arrive."""

    body_bytes: int = 2_097_152
    body_timeout_s: float = 30.0


def webhook_routes(
    channels: Mapping[str, WebhookChannel], limits: WebhookLimits
) -> tuple[Route, ...]:
    """Return the routes of all webhooks; what follows a platform's name is the channel's own."""

    async def hand_over(exchange: Exchange) -> Answer:
        platform = exchange.parameter("platform")
        channel = channels.get(platform)
        if channel is None:
            raise NotFound(f"No platform {platform[:80]!r} receives webhooks here.")
        body = await exchange.body(limit=limits.body_bytes, timeout_s=limits.body_timeout_s)
        return await channel.webhook(
            HttpRequest(
                method=exchange.method,
                path=exchange.path,
                query=exchange.query(),
                headers=exchange.headers,
                body=body,
            )
        )

    handlers = {"GET": hand_over, "POST": hand_over}
    endpoint = Endpoint(handlers)
    paths = ("/webhooks/{platform}", "/webhooks/{platform}/{rest:path}")
    return tuple(Route(path, endpoint) for path in paths)
