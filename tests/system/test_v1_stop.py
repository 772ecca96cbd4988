"""A planned stop cuts off calls under `/v1`: each caller learns it in their wire, and the call is paid for."""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from hermes.testing.model_server import ModelServer
from tests.system.live import START_S, live_gateway, with_model
from tests.system.test_gateway import hermes
from tests.system.test_v1_gateway import key_of

_MOST_OUT = 100
CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
WIRES = (CHAT, MESSAGES, RESPONSES)


class Got(msgspec.Struct, frozen=True):
    """What a caller got."""

    status: int
    retry_after: str | None
    text: str


def _body(path: str, text: str, *, stream: bool) -> dict[str, Any]:
    said = [{"role": "user", "content": text}]
    if path == RESPONSES:
        return {"model": "auto", "input": said, "stream": stream, "max_output_tokens": _MOST_OUT}
    return {"model": "auto", "messages": said, "stream": stream, "max_tokens": _MOST_OUT}


async def _whole(http: aiohttp.ClientSession, path: str) -> Got:
    body = _body(path, "[[hang]] hello", stream=False)
    async with http.post(path, json=body) as answer:
        return Got(answer.status, answer.headers.get("retry-after"), await answer.text())


@pytest.mark.req("A22", "J21")
async def test_calls_that_a_stop_cuts_off_end_in_their_wire_and_are_paid_for(
    tmp_path: Path,
) -> None:
    more = {"HERMES_TURNS__MAX_CALLS_EACH": "10"}
    async with (
        ModelServer() as models,
        live_gateway(tmp_path / "home", {**with_model(models.base_url), **more}) as live,
    ):
        secret, _ = await key_of(live)
        headers = {"authorization": f"Bearer {secret}"}
        async with aiohttp.ClientSession(live.url, headers=headers) as http:
            streams = {
                path: await http.post(path, json=_body(path, "[[hang:2]] hello you", stream=True))
                for path in WIRES
            }
            begun = {path: await one.content.readany() for path, one in streams.items()}
            wholes = {path: asyncio.create_task(_whole(http, path)) for path in WIRES}
            async with asyncio.timeout(START_S):
                while len(models.invocations) < 2 * len(WIRES):  # noqa: ASYNC110  another process calls
                    await asyncio.sleep(0.02)

            await live.stop()

            refused = {path: await call for path, call in wholes.items()}
            ends = {path: _last(await one.text()) for path, one in streams.items()}
        _, out, _ = await hermes(live, "costs", "--by", "key", "--json")

    assert all(begun.values())
    assert {path: (one.status, one.retry_after) for path, one in refused.items()} == {
        CHAT: (503, "5"),
        MESSAGES: (529, "5"),
        RESPONSES: (503, "5"),
    }
    assert json.loads(refused[CHAT].text)["error"]["code"] == "overloaded"
    assert json.loads(refused[MESSAGES].text)["error"]["type"] == "overloaded_error"
    assert json.loads(refused[RESPONSES].text)["error"]["code"] == "overloaded"
    assert ends[CHAT]["error"]["code"] == "overloaded"
    assert ends[MESSAGES]["error"]["type"] == "overloaded_error"
    assert (ends[RESPONSES]["type"], ends[RESPONSES]["response"]["status"]) == (
        "response.failed",
        "failed",
    )
    (row,) = json.loads(out)["rows"]
    # A call of which nothing was heard is taken to have written all that it could.
    assert (row["calls"], row["tokens_out"] > 3 * _MOST_OUT) == (6, True)


def _last(events: str) -> dict[str, Any]:
    """Return the data of the last event of a stream."""
    return dict(json.loads(events.rstrip().rpartition("data: ")[2]))
