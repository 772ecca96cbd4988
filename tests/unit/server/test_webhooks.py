"""A call that its headers refuse is answered without its body; what is left is a matter of the channel."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from hermes.channels.slack.channel import SlackChannel
from hermes.channels.slack.channel import make as make_slack
from hermes.channels.telegram.channel import make as make_telegram
from hermes.channels.webhook.channel import make as make_webhook
from hermes.ports.channel import Capabilities, HttpRequest, HttpResponse, WebhookChannel
from hermes.server.webhooks import WebhookLimits, webhook_routes
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel
from hermes.testing.setup_channel import channel_setup

pytestmark = pytest.mark.req("A2", "W10")

SECRET = "0123456789abcdef0123456789abcdef"
NOW = str(int(ManualClock().now()))
ROUTES = {
    "std": {"secret": SECRET},
    "hub": {"secret": SECRET, "scheme": "github"},
    "lab": {"secret": SECRET, "scheme": "gitlab"},
    "own": {"secret": SECRET, "scheme": "hmac", "signature_header": "X-Mine"},
}


class Plain(MemoryChannel):
    """A channel that does not look at the head alone."""

    async def webhook(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=202, body=request.body)


def channels() -> Mapping[str, WebhookChannel]:
    telegram = {
        "bot_token": "123456:" + "A" * 35,
        "mode": "webhook",
        "webhook_secret": SECRET,
        "api_url": "http://127.0.0.1:1",
    }
    slack = {"bot_token": "xoxb-1", "mode": "http", "signing_secret": SECRET}
    made = {
        "telegram": make_telegram(
            msgspec.structs.replace(
                channel_setup("hermes.channels.telegram", telegram), webhook_url="https://h.test/w"
            )
        ),
        "slack": make_slack(channel_setup("hermes.channels.slack", slack)),
        "webhook": make_webhook(channel_setup("hermes.channels.webhook", {"routes": ROUTES})),
        "plain": Plain(Capabilities(delivery="push")),
    }
    assert isinstance(made["slack"], SlackChannel)
    return made  # type: ignore[return-value]


async def ask(
    path: str, *, headers: Mapping[str, str], method: str = "POST", body: bytes | None = None
) -> int:
    """Return the status of a call whose body, unless it is given, never comes."""
    platform = path.split("/")[2]
    route = webhook_routes(channels(), WebhookLimits(body_timeout_s=30.0))[0]
    sent: list[Mapping[str, Any]] = []
    answered = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if body is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)
        answered.set()

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "path_params": {"platform": platform},
        "query_string": b"",
        "headers": [
            (k.encode(), v.encode()) for k, v in {"content-length": "9", **headers}.items()
        ],
    }
    serving = asyncio.ensure_future(route.app(scope, receive, send))
    try:
        async with asyncio.timeout(30):
            await answered.wait()
    finally:
        serving.cancel()
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/webhooks/telegram", {}),
        ("/webhooks/telegram", {"x-telegram-bot-api-secret-token": "wrong"}),
        ("/webhooks/slack", {}),
        ("/webhooks/slack", {"x-slack-request-timestamp": NOW}),
        ("/webhooks/slack", {"x-slack-request-timestamp": "1", "x-slack-signature": "v0=1"}),
        ("/webhooks/webhook/std", {"webhook-id": "1", "webhook-timestamp": NOW}),
        ("/webhooks/webhook/std", {"webhook-timestamp": "1", "webhook-signature": "v1,x"}),
        ("/webhooks/webhook/hub", {}),
        ("/webhooks/webhook/lab", {"x-gitlab-token": "wrong"}),
        ("/webhooks/webhook/own", {"x-signature": "1"}),
    ],
)
async def test_what_cannot_be_authentic_is_refused_while_its_body_is_withheld(
    path: str, headers: Mapping[str, str]
) -> None:
    assert await ask(path, headers=headers) == 401


@pytest.mark.parametrize(
    "path", ["/webhooks/webhook/none", "/webhooks/nobody", "/webhooks/no/body"]
)
async def test_a_route_that_is_none_has_no_body_read(path: str) -> None:
    assert await ask(path, headers={}) == 404


@pytest.mark.parametrize("platform", ["telegram", "slack", "webhook/std"])
async def test_a_webhook_is_posted(platform: str) -> None:
    assert await ask(f"/webhooks/{platform}", headers={}, method="GET") == 405


async def test_a_channel_that_looks_at_the_whole_call_gets_it_whole() -> None:
    assert await ask("/webhooks/plain", headers={}, body=b"the whole") == 202
    signed = {"x-telegram-bot-api-secret-token": SECRET}
    # Its secret is right, so its body is read; it is not connected yet.
    assert await ask("/webhooks/telegram", headers=signed, body=b"{}       ") == 503


async def test_an_account_is_called_below_its_platform_and_all_else_is_the_platforms() -> None:
    called: list[tuple[str, str]] = []

    class Named(Plain):
        async def webhook(self, request: HttpRequest) -> HttpResponse:
            called.append((self.name, request.path))
            return HttpResponse()

    can = Capabilities(delivery="push")
    known = {name: Named(can, name=name) for name in ("plain", "plain/sales")}
    (short, long) = webhook_routes(known, WebhookLimits())

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_message: Any) -> None: ...

    for route, rest in ((short, ""), (long, "x"), (long, "sales"), (long, "sales/x")):
        path = f"/webhooks/plain/{rest}".rstrip("/")
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "path_params": {"platform": "plain", **({"rest": rest} if rest else {})},
            "query_string": b"",
            "headers": [],
        }
        await route.app(scope, receive, send)

    assert called == [
        ("plain", "/webhooks/plain"),
        ("plain", "/webhooks/plain/x"),
        ("plain/sales", "/webhooks/plain/sales"),
        ("plain/sales", "/webhooks/plain/sales/x"),
    ]
