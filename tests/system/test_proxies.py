"""A gateway that others can reach directly believes nobody but its proxies that a client came over https."""

from pathlib import Path

import aiohttp
import pytest

from tests.system.live import Live, live_gateway

PUBLIC = "bot.example.org"
OPEN = {
    "HERMES_SERVER__HOST": "0.0.0.0",
    "HERMES_SERVER__PUBLIC_URL": f"https://{PUBLIC}",
    "HERMES_OFFLINE": "true",
}
AS_PROXIED = {"host": PUBLIC, "x-forwarded-proto": "https"}


async def status_of(live: Live, **headers: str) -> tuple[int, str]:
    """Return how an order with a token is answered that comes with these headers."""
    async with aiohttp.ClientSession(live.url) as http:
        made = {"role": "viewer", "name": "ci"}
        async with http.post("/control/tokens", json=made, headers=live.bearer) as answer:
            token = (await answer.json())["secret"]
        sent = {**headers, "authorization": f"Bearer {token}"}
        async with http.get("/control/status", headers=sent) as answer:
            return answer.status, await answer.text()


@pytest.mark.req("W34", "W35")
async def test_forged_headers_from_a_peer_that_is_no_proxy_are_not_believed(
    tmp_path: Path,
) -> None:
    # This machine stands for any other, because it is not among the proxies.
    more = {**OPEN, "HERMES_SERVER__TRUSTED_PROXIES": '["192.0.2.7"]'}
    async with live_gateway(tmp_path / "home", more) as live:
        named = await status_of(live, host=PUBLIC)
        said = await status_of(live, **AS_PROXIED)

    assert named[0] == said[0] == 403
    assert "server.trusted_proxies" in said[1]


@pytest.mark.req("W34", "W35")
async def test_a_proxy_on_this_machine_needs_no_setting(tmp_path: Path) -> None:
    async with live_gateway(tmp_path / "home", OPEN) as live:
        named = await status_of(live, host=PUBLIC)
        said = await status_of(live, **AS_PROXIED)
        plain = await status_of(live, **{**AS_PROXIED, "x-forwarded-proto": "http"})

    assert (named[0], said[0], plain[0]) == (200, 200, 403)
