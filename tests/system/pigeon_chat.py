"""A real gateway with the stand-in chat platform Pigeon behind it: its settings, and what people write."""

import asyncio
import json

import aiohttp

from hermes.ports.clock import SystemClock
from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.webhooks import InboundMessage, event_body, sign
from tests.system.live import Live

WAIT_S = 20.0


def pigeon_settings(pigeon: SamplePlatform) -> dict[str, str]:
    """Return the variables that connect a gateway to the platform."""
    extra = {"base_url": pigeon.base_url, "token": "t", "signing_secret": "s", "edit": "false"}
    settings = {f"EXTRA__{name.upper()}": value for name, value in extra.items()}
    settings |= {"ENABLED": "true", "UNKNOWN": "allow"}
    return {
        "HERMES_PLUGINS": '["hermes.testing.push.plugin"]',
        **{f"HERMES_PLATFORMS__PIGEON__{name}": value for name, value in settings.items()},
    }


async def write(
    live: Live, http: aiohttp.ClientSession, message: InboundMessage, *, ahead_s: float = 0.0
) -> str:
    """Have somebody write to the bot, whose clock is `ahead_s` ahead; returns the message's id."""
    async with asyncio.timeout(WAIT_S):
        while True:
            status, answer = await _post(live, http, message, ahead_s=ahead_s)
            if status != 503:
                break
            # The channel is not connected yet: a platform sends it again.
            await asyncio.sleep(0.05)
    assert status == 200, answer
    return str(json.loads(answer)["message_id"])


async def _post(
    live: Live, http: aiohttp.ClientSession, message: InboundMessage, *, ahead_s: float
) -> tuple[int, str]:
    body, stamp = event_body(message, sent_at=1.0), f"{(SystemClock().now() + ahead_s) * 1000:.0f}"
    headers = {
        "Content-Type": "application/json",
        "X-Pigeon-Timestamp": stamp,
        "X-Pigeon-Signature": sign("s", stamp, body=body),
    }
    async with http.post(f"{live.url}/webhooks/pigeon", data=body, headers=headers) as answer:
        return answer.status, await answer.text()
