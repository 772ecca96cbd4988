"""A28 over HTTP: a platform whose replies pile up is told to come back, and nothing that waits is lost."""

import asyncio
import hashlib
import hmac
import json
import socket
from pathlib import Path

import aiohttp
import pytest

from tests.system.live import Live, live_gateway, model_server, with_model

SECRET = "a-secret-of-twenty-four-x"


def configuration(port: int) -> str:
    route = {
        "scheme": "hmac",
        "secret": SECRET,
        "reply_url": f"http://127.0.0.1:{port}/replies",
    }
    return json.dumps(
        {
            "outbox": {"max_waiting": 2},
            "net": {"exempt": ["127.0.0.0/8"]},
            "platforms": {"webhook": {"enabled": True, "extra": {"routes": {"ci": route}}}},
        }
    )


async def post(live: Live, session: aiohttp.ClientSession, name: str) -> tuple[int, str | None]:
    """Bring an event; returns the status and when to come back."""
    body = json.dumps({"text": name}).encode()
    mark = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {"content-type": "application/json", "x-signature": mark, "x-request-id": name}
    url = f"{live.url}/webhooks/webhook/ci"
    async with session.post(url, data=body, headers=headers) as answer:
        return answer.status, answer.headers.get("retry-after")


async def waiting(live: Live, session: aiohttp.ClientSession) -> int:
    async with session.get(f"{live.url}/control/channels", headers=live.bearer) as answer:
        found = await answer.json()
    (line,) = (one for one in found["channels"] if one["platform"] == "webhook")
    return int(line["waiting"])


async def until_waiting(live: Live, session: aiohttp.ClientSession, *, count: int) -> None:
    async with asyncio.timeout(20):
        while await waiting(live, session) != count:  # noqa: ASYNC110  another process
            await asyncio.sleep(0.02)


@pytest.mark.req("A28", "J2")
async def test_a28_past_the_limit_of_waiting_replies_a_sender_gets_503_and_when_to_come_back(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with socket.socket() as nobody:
        # Taken and never listened on: every connection is refused, so every reply waits.
        nobody.bind(("127.0.0.1", 0))
        (home / "config.yaml").write_text(configuration(nobody.getsockname()[1]))
        async with (
            model_server() as url,
            aiohttp.ClientSession() as session,
            live_gateway(home, with_model(url)) as live,
        ):
            taken = []
            for number in range(2):
                taken.append((await post(live, session, f"e{number}"))[0])
                await until_waiting(live, session, count=number + 1)

            refused = await post(live, session, "e2")
            again = await post(live, session, "e2")
            by_hand = await live.post(session, text="hello", sender="ann")
            left = await waiting(live, session)

    assert taken == [202, 202]
    assert (refused, again) == ((503, "5"), (503, "5"))
    assert by_hand["outcome"] == "answered"
    assert left == 2
