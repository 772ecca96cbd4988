"""Callers of `/v1` who hang up: what was sent to a model is paid for all the same."""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hermes.testing.model_server import ModelServer
from tests.system.live import START_S, Live, live_gateway, with_model
from tests.system.test_gateway import hermes
from tests.system.test_v1_gateway import key_of

_MOST_OUT = 100
_CALLS = 20
# Room for 20 calls and not for 21: each reads some 4 tokens and may write 100.
_ROOM = "2110"


async def _costs(live: Live) -> dict[str, Any]:
    """Return the row of the only key in the cost report, or nothing."""
    _, out, _ = await hermes(live, "costs", "--by", "key", "--json")
    rows = json.loads(out)["rows"]
    return rows[0] if rows else {}


@pytest.mark.req("A22", "J21")
async def test_calls_that_their_callers_leave_use_up_the_budget_of_the_key(tmp_path: Path) -> None:
    async with ModelServer() as models:
        more = {**with_model(models.base_url), "HERMES_TURNS__MAX_CALLS_EACH": str(_CALLS)}
        async with live_gateway(tmp_path / "home", more) as live:
            options = ("--tokens", _ROOM, "--max-output", str(_MOST_OUT))
            secret, _ = await key_of(live, *options)
            headers = {"authorization": f"Bearer {secret}"}
            async with aiohttp.ClientSession(live.url, headers=headers) as http:
                calls = [
                    asyncio.create_task(_hang(http, stream=number % 2 == 0))
                    for number in range(_CALLS)
                ]
                async with asyncio.timeout(START_S):
                    while len(models.invocations) < _CALLS:  # noqa: ASYNC110  another process calls
                        await asyncio.sleep(0.02)
                for call in calls:
                    call.cancel()
                await asyncio.gather(*calls, return_exceptions=True)
                async with asyncio.timeout(START_S):
                    while (await _costs(live)).get("calls") != _CALLS:  # noqa: ASYNC110
                        await asyncio.sleep(0.1)
                async with http.post("/v1/chat/completions", json=_body("hello")) as answer:
                    refused = answer.status, (await answer.json())["error"]["code"]
            row = await _costs(live)

    assert refused == (429, "insufficient_quota")
    assert (row["calls"], row["tokens_out"]) == (_CALLS, _CALLS * _MOST_OUT)
    assert len(models.invocations) == _CALLS


@pytest.mark.req("A22", "J21")
async def test_calls_that_a_stop_cuts_off_are_in_the_ledger(tmp_path: Path) -> None:
    async with ModelServer() as models:
        more = {**with_model(models.base_url), "HERMES_SERVER__DRAIN_S": "0.2"}
        async with live_gateway(tmp_path / "home", more) as live:
            secret, _ = await key_of(live, "--max-output", str(_MOST_OUT))
            headers = {"authorization": f"Bearer {secret}"}
            async with aiohttp.ClientSession(live.url, headers=headers) as http:
                calls = [asyncio.create_task(_hang(http, stream=one)) for one in (True, False)]
                async with asyncio.timeout(START_S):
                    while len(models.invocations) < len(calls):  # noqa: ASYNC110  another process
                        await asyncio.sleep(0.02)
                await live.stop()
                await asyncio.gather(*calls, return_exceptions=True)
            row = await _costs(live)

    assert (row["calls"], row["tokens_out"]) == (2, 2 * _MOST_OUT)


async def _hang(http: aiohttp.ClientSession, *, stream: bool) -> None:
    body = {**_body("[[hang]] hello"), "stream": stream}
    async with http.post("/v1/chat/completions", json=body) as answer:
        await answer.read()


def _body(text: str) -> dict[str, Any]:
    return {"model": "auto", "messages": [{"role": "user", "content": text}]}
