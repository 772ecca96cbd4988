"""`/webhooks/{platform}`: passes a platform's call, raw and limited in size, to its channel.

The channel authenticates the raw bytes; the server does not interpret them.
"""

from collections.abc import Mapping

import msgspec
from starlette.routing import Route

from hermes.errors import HermesError, NotFound
from hermes.http.errors import error_response, status_of
from hermes.http.route import Answer, Endpoint, HttpExchange
from hermes.message.channel_name import channel_name
from hermes.ports.channel import HttpRequest, HttpResponse, WebhookChannel


class WebhookLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How large a call may be, and how long it may take to arrive."""

    body_bytes: int = 2_097_152
    body_timeout_s: float = 30.0


def webhook_routes(
    channels: Mapping[str, WebhookChannel], limits: WebhookLimits
) -> tuple[Route, ...]:
    """Return the routes of all webhooks; the channel owns the path after its name.

    An account of a platform is called at `/webhooks/platform/account`.
    """

    async def hand_over(exchange: HttpExchange) -> Answer:
        platform = exchange.parameter("platform")
        account = exchange.parameter("rest").partition("/")[0]
        channel = channels.get(channel_name(platform, account)) or channels.get(platform)
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
                query_string=exchange.query_string,
                headers=exchange.headers,
                body=body,
            )
        )

    handlers = {"GET": hand_over, "POST": hand_over}
    endpoint = Endpoint(handlers)
    paths = ("/webhooks/{platform}", "/webhooks/{platform}/{rest:path}")
    return tuple(Route(path, endpoint) for path in paths)


def _glanced(channel: WebhookChannel, exchange: HttpExchange) -> HttpResponse | None:
    """Return why a channel refuses a call by its head, before its body is read."""
    # Looked up by name: a runtime protocol check takes longer than everything else here.
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
