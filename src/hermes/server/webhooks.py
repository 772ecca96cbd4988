"""`/webhooks/{platform}`: hands a platform's call, raw and bounded, to its channel.

The channel authenticates the raw bytes; the server reads nothing into them.
"""

from collections.abc import Mapping

import msgspec
from starlette.routing import Route

from hermes.errors import HermesError, NotFound
from hermes.http.errors import error_response, status_of
from hermes.http.route import Answer, Endpoint, HttpExchange
from hermes.ports.channel import HttpRequest, HttpResponse, WebhookChannel


class WebhookLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How large a call may be, and how long it may take to arrive."""

    body_bytes: int = 2_097_152
    body_timeout_s: float = 30.0


def webhook_routes(
    channels: Mapping[str, WebhookChannel], limits: WebhookLimits
) -> tuple[Route, ...]:
    """Return the routes of all webhooks; what follows a platform's name is the channel's own."""

    async def hand_over(exchange: HttpExchange) -> Answer:
        platform = exchange.parameter("platform")
        channel = channels.get(platform)
        if channel is None:
            raise NotFound(f"No platform {platform[:80]!r} receives webhooks here.")
        body = b""
        if exchange.method == "POST":
            refused = _glanced(channel, exchange)
            if refused is not None:
                return refused
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


def _glanced(channel: WebhookChannel, exchange: HttpExchange) -> HttpResponse | None:
    """Return why a channel refuses a call by its head; its body is then not waited for."""
    # Looked up by name: asking a runtime protocol takes longer than all the rest of this.
    glance = getattr(channel, "glance", None)
    if glance is None:
        return None
    try:
        glance(exchange.headers, path=exchange.path)
    except HermesError as error:
        if status_of(error) is None:
            raise
        answer = error_response(error)
        return msgspec.structs.replace(answer, headers={**answer.headers, "connection": "close"})
    return None
