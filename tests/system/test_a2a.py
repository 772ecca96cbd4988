"""A2A: the SDK's own clients of both versions against a live gateway."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.system.live import Live, live_gateway, model_server, with_model


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    async with model_server() as url, live_gateway(tmp_path / "home", with_model(url)) as running:
        yield running


@pytest.mark.req("M10")
async def test_the_example_of_seed_004(live: Live) -> None:
    async with aiohttp.ClientSession(headers=live.bearer) as session:
        body: Any = {
            "jsonrpc": "2.0",
            "id": "probe-1",
            "method": "message/send",
            "params": {"message": {"role": "user", "parts": [{"kind": "text", "text": "Hello"}]}},
        }
        async with session.post(f"{live.url}/workspaces/main/a2a", json=body) as answer:
            said = await answer.json()
            print(said)
    assert said["result"]["parts"][0]["text"] == "#1 Hello"
