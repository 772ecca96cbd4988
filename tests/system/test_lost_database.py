"""`hermes.db` is removed under a running gateway: nothing is accepted into it, and nothing is lost."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest

from tests.system.live import live_gateway, model_server, with_model
from tests.system.test_copied_home import run

pytestmark = pytest.mark.sqlite_only


async def until(claim: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await claim():  # noqa: ASYNC110  another process does it
            await asyncio.sleep(0.1)


@pytest.mark.req("J2", "W25")
async def test_a_removed_database_is_noticed_and_comes_back(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with model_server() as url:
        async with (
            live_gateway(home, with_model(url)) as live,
            aiohttp.ClientSession(live.url, headers=live.bearer) as http,
        ):

            async def is_ready() -> bool:
                async with http.get("/readyz") as answer:
                    return answer.status == 200

            async def is_refused() -> bool:
                return not await is_ready()

            first = await live.post(http, sender="ann", text="one")
            away = tmp_path / "away.db"
            (home / "hermes.db").rename(away)
            await until(is_refused)
            away.rename(home / "hermes.db")
            await until(is_ready)
            second = await live.post(http, sender="ann", text="two")

            (home / "hermes.db").unlink()
            await until(is_refused)
            async with http.post("/api/messages", json={"sender": "ann", "text": "x"}) as answer:
                refused = answer.status, float(answer.headers["retry-after"]) > 0
            asked = {"model": "agent:main", "messages": [{"role": "user", "content": "x"}]}
            async with http.post("/v1/chat/completions", json=asked) as answer:
                refused_v1 = answer.status, (await answer.json())["error"]["code"]
            _, status = await run(home, "status")
            examined, doctor = await run(home, "doctor")
            stopped, _ = await run(home, "stop")

        refused_start, said = await run(home, "up")
        (home / "hermes.db.rescued").rename(home / "hermes.db")
        async with live_gateway(home, with_model(url)) as live, aiohttp.ClientSession() as http:
            third = await live.post(http, sender="ann", text="three")

    assert (first["reply"], second["reply"]) == ("#1 one", "#2 two")
    assert refused == (503, True)
    assert refused_v1 == (503, "storage_full")
    assert "ACCEPTS NO MESSAGES" in status
    assert "hermes.db.rescued" in " ".join(status.split())
    assert (examined, "was removed or moved" in " ".join(doctor.split())) == (1, True)
    assert stopped == 0
    assert (refused_start != 0, "hermes.db.rescued" in said) == (True, True)
    assert third["reply"] == "#3 three"
