"""Responses that cannot be stored, or whose gateway dies: nobody is told of one that is not there."""

import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest

from hermes.testing.model_script import ScriptedTurn, SeenConversation
from hermes.testing.model_server import ModelServer
from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.test_v1_stored_responses import client_of, secret_of, words_of

Act = Callable[[], None]


class Meanwhile:
    """A script whose model does something before its second answer."""

    def __init__(self) -> None:
        self.act: Act = lambda: None

    def __call__(self, seen: SeenConversation, number: int) -> ScriptedTurn:
        if seen.last_text == "two":
            self.act()
        return ScriptedTurn(text="Good day", deltas=2)


@asynccontextmanager
async def stored_first(
    home: Path, script: Meanwhile
) -> AsyncIterator[tuple[Live, openai.AsyncOpenAI, str]]:
    """Give a gateway, the client of a key, and the id of a stored response."""
    async with (
        ModelServer(script) as models,
        live_gateway(home, with_model(models.base_url)) as live,
    ):
        secret = await secret_of(live, "--store-responses")
        async with client_of(live, secret) as client:
            first = await client.responses.create(model="auto", input="one")
            yield live, client, first.id


def sent(url: str, secret: str, *, method: str, body: bytes | None = None) -> Act:
    """Return a function that sends a request; the gateway answers it beside the call."""

    def act() -> None:
        headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
        request = urllib.request.Request(url, data=body, method=method, headers=headers)
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 200

    return act


@pytest.mark.req("M1")
@pytest.mark.parametrize("stream", [False, True])
async def test_what_was_deleted_meanwhile_is_not_continued(tmp_path: Path, stream: bool) -> None:
    script = Meanwhile()
    async with stored_first(tmp_path / "home", script) as (live, client, first):
        address = f"{live.url}/v1/responses/{first}"
        script.act = sent(address, client.api_key, method="DELETE")
        ask = client.responses.create(
            model="auto", input="two", previous_response_id=first, stream=stream
        )

        told = await failure_of(ask, stream=stream)

    assert told["code"] in {"previous_response_not_found", "server_error"}
    assert f"Previous response with id '{first}' not found" in told["message"]


@pytest.mark.req("M1", "J24")
@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_that_cannot_be_stored_is_a_failure(tmp_path: Path, stream: bool) -> None:
    script = Meanwhile()
    async with stored_first(tmp_path / "home", script) as (live, client, _):
        address = f"{live.url}/control/users/erase"
        script.act = sent(address, live.token, method="POST", body=b'{"user":"v1:ann"}')
        ask = client.responses.create(model="auto", input="two", stream=stream)

        told = await failure_of(ask, stream=stream)

    assert told["code"] in {"response_not_stored", "server_error"}
    assert "could not be stored" in told["message"]


async def failure_of(ask: Any, *, stream: bool) -> dict[str, Any]:
    """Return the error of a call; a stream ends with it, and with nothing that looks like an end."""
    if not stream:
        with pytest.raises(openai.APIStatusError) as caught:
            await ask
        return words_of(caught.value)
    events = [event async for event in await ask]
    kinds = [event.type for event in events]
    assert [event.sequence_number for event in events] == [*range(len(events))]
    assert kinds.count("response.output_item.done") == 1
    assert kinds[-1] == "response.failed"
    assert "response.completed" not in kinds
    failed = events[-1].response
    assert failed.output_text == "Good day"
    error: dict[str, Any] = failed.error.to_dict()
    return error


@pytest.mark.req("M1", "J19")
@pytest.mark.parametrize(("side", "status"), [("before", 404), ("after", 200)])
async def test_a_kill_leaves_no_id_that_leads_nowhere(
    tmp_path: Path, side: str, status: int
) -> None:
    home, kill = tmp_path / "home", {"HERMES_FAILPOINTS": f"store.put_response.{side}:1"}
    seen: list[Any] = []
    async with model_server() as url:
        async with live_gateway(home, {**with_model(url), **kill}) as live:
            secret = await secret_of(live, "--store-responses")
            async with client_of(live, secret) as client:
                stream = await client.responses.create(model="auto", input="one", stream=True)
                with pytest.raises(openai.APIConnectionError):
                    await collect(stream, seen)
        async with live_gateway(home, with_model(url)) as live:
            headers = {"authorization": f"Bearer {secret}"}
            async with (
                aiohttp.ClientSession(live.url, headers=headers) as http,
                http.get(f"/v1/responses/{seen[0].response.id}") as answer,
            ):
                assert answer.status == status

    assert "response.completed" not in [event.type for event in seen]


async def collect(stream: Any, seen: list[Any]) -> None:
    """Collect the events of a stream as they come, also of one that breaks off."""
    async for event in stream:
        seen.append(event)  # noqa: PERF401  a list comprehension would lose them
