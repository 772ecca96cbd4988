"""Stored responses of the real gateway, with OpenAI's own SDK as the client."""

import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pydantic
import pytest
from openai.types.responses import Response, ResponseItem

from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.test_gateway import hermes

TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "description": "Tells the weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": False,
}
CALLS_A_TOOL = '[[tool:get_weather {"city": "Oslo"}]] hello'
ITEM: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(ResponseItem)
MISSING = "resp_v_06gtv2gs6bqvb0ljq03ptcp1"


@asynccontextmanager
async def gateway(home: Path, **more: str) -> AsyncIterator[Live]:
    async with model_server() as url, live_gateway(home, {**with_model(url), **more}) as live:
        yield live


async def secret_of(live: Live, *options: str, user: str = "ann") -> str:
    """Make a key by the command line; returns its secret."""
    code, out, err = await hermes(live, "keys", "create", "--user", user, "--json", *options)
    assert code == 0, err
    return str(json.loads(out)["secret"])


def client_of(live: Live, secret: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{live.url}/v1", api_key=secret, max_retries=0)


@asynccontextmanager
async def storing_client(home: Path, **more: str) -> AsyncIterator[openai.AsyncOpenAI]:
    """Run a gateway, and give the client of a key that stores its responses."""
    async with gateway(home, **more) as live:
        secret = await secret_of(live, "--store-responses")
        async with client_of(live, secret) as client:
            yield client


def is_stored(response: Response) -> object:
    """Return what the response says of it; the SDK has no name for the field."""
    return response.to_dict()["store"]


def words_of(error: openai.APIStatusError) -> dict[str, Any]:
    found: dict[str, Any] = error.response.json()["error"]
    return found


@pytest.mark.req("M1")
async def test_a_stored_response_is_continued_read_and_deleted(tmp_path: Path) -> None:
    async with storing_client(tmp_path / "home") as client:
        first = await client.responses.create(
            model="auto", input="one", instructions="Be short.", metadata={"for": "test"}
        )
        assert (first.output_text, is_stored(first)) == ("#1 one", True)

        second = await client.responses.create(
            model="auto", input="two", previous_response_id=first.id, store=True
        )
        assert second.previous_response_id == first.id
        # The stand-in counts the messages of the person that it has seen.
        assert second.output_text == "#2 two"

        found = await client.responses.retrieve(first.id)
        assert found.to_dict() == first.to_dict()
        Response.model_validate(found.to_dict())

        items = await client.responses.input_items.list(second.id, order="asc")
        listed = [item.to_dict() for item in items.data]
        assert [(item["role"], item["content"][0]["text"]) for item in listed] == [  # type: ignore[index]
            ("user", "one"),
            ("assistant", "#1 one"),
            ("user", "two"),
        ]
        for item in listed:
            ITEM.validate_python(item)

        await client.responses.delete(first.id)
        for gone in (client.responses.retrieve, client.responses.delete):
            with pytest.raises(openai.NotFoundError) as caught:
                await gone(first.id)
            assert words_of(caught.value)["code"] == "response_not_found"
        assert (await client.responses.retrieve(second.id)).output_text == "#2 two"
        with pytest.raises(openai.NotFoundError) as caught:
            await client.responses.create(
                model="auto", input="three", previous_response_id=second.id
            )
        told = words_of(caught.value)
        assert told["code"] == "previous_response_not_found"
        assert told["param"] == "previous_response_id"


@pytest.mark.req("M1")
async def test_streams_and_tool_results_continue_what_was_streamed(tmp_path: Path) -> None:
    async with storing_client(tmp_path / "home") as client:
        stream = await client.responses.create(
            model="auto", input=CALLS_A_TOOL, tools=[TOOL], stream=True
        )
        events = [event async for event in stream]
        last: Any = events[-1]
        assert [event.sequence_number for event in events] == [*range(len(events))]
        assert last.type == "response.completed"
        (call,) = last.response.output
        assert call.type == "function_call"

        async with client.responses.stream(
            model="auto",
            tools=[TOOL],
            previous_response_id=last.response.id,
            input=[
                {"type": "function_call_output", "call_id": call.call_id, "output": "2 degrees"}
            ],
        ) as answer:
            told = await answer.get_final_response()
        assert told.output_text.endswith("-> 2 degrees")
        kept = await client.responses.retrieve(told.id)
        assert kept.output_text == told.output_text
        assert kept.previous_response_id == last.response.id

        pages = client.responses.input_items.list(told.id, limit=1)
        kinds = [item.type async for item in await pages]
        assert kinds == ["function_call_output", "function_call", "message"]


@pytest.mark.req("M1", "A20")
async def test_nothing_is_stored_unless_the_key_and_the_call_say_so(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        plain, storing = await secret_of(live), await secret_of(live, "--store-responses")
        for secret in (plain, live.token):
            async with client_of(live, secret) as client:
                raw = await client.responses.with_raw_response.create(
                    model="auto", input="one", store=True
                )
                assert raw.headers["x-hermes-ignored"] == "store"
                answer = raw.parse()
                assert is_stored(answer) is False
                with pytest.raises(openai.NotFoundError):
                    await client.responses.retrieve(answer.id)
                with pytest.raises(openai.BadRequestError) as caught:
                    await client.responses.create(
                        model="auto", input="two", previous_response_id=answer.id
                    )
                assert "--store-responses" in words_of(caught.value)["message"]
        async with client_of(live, storing) as client:
            unkept = await client.responses.create(model="auto", input="one", store=False)
            assert is_stored(unkept) is False
            with pytest.raises(openai.NotFoundError):
                await client.responses.retrieve(unkept.id)
        code, out, _ = await hermes(live, "keys", "list", "--json")
        assert code == 0
        assert [key["store_responses"] for key in json.loads(out)["keys"]] == [True, False]


@pytest.mark.req("M1", "J22")
async def test_another_key_gets_the_words_of_a_missing_response(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        mine = await secret_of(live, "--store-responses")
        same_person = await secret_of(live, "--store-responses")
        stranger = await secret_of(live, "--store-responses", user="bob")
        async with client_of(live, mine) as client:
            kept = await client.responses.create(model="auto", input="one")
        for secret in (same_person, stranger):
            async with client_of(live, secret) as client:
                told = []
                for name in (kept.id, MISSING):
                    for ask in (
                        client.responses.retrieve(name),
                        client.responses.delete(name),
                        client.responses.input_items.list(name),
                        client.responses.create(
                            model="auto", input="two", previous_response_id=name
                        ),
                    ):
                        with pytest.raises(openai.NotFoundError) as caught:
                            await ask
                        told.append(str(words_of(caught.value)).replace(name, "ID"))
                assert told[:4] == told[4:]
        async with client_of(live, mine) as client:
            assert (await client.responses.retrieve(kept.id)).id == kept.id


@pytest.mark.req("M1", "J24")
async def test_it_survives_a_kill_and_not_the_erasure_of_its_person(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with gateway(home) as live:
        secret = await secret_of(live, "--store-responses")
        async with client_of(live, secret) as client:
            stream = await client.responses.create(model="auto", input="one", stream=True)
            last: Any = [event async for event in stream][-1]
        await live.stop(signal.SIGKILL)
    async with gateway(home) as live, client_of(live, secret) as client:
        assert (await client.responses.retrieve(last.response.id)).output_text == "#1 one"
        code, _, err = await hermes(live, "users", "erase", "v1:ann", "--yes")
        assert code == 0, err
        with pytest.raises(openai.AuthenticationError):
            await client.responses.retrieve(last.response.id)


@pytest.mark.req("M1", "A20")
async def test_the_whole_conversation_counts_against_the_budget_of_the_key(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        secret = await secret_of(live, "--store-responses", "--tokens", "2000")
        async with client_of(live, secret) as client:
            long = await client.responses.create(
                model="auto", input="word " * 1_000, max_output_tokens=100
            )
            with pytest.raises(openai.RateLimitError) as caught:
                await client.responses.create(
                    model="auto",
                    input="and?",
                    previous_response_id=long.id,
                    max_output_tokens=100,
                )
            assert words_of(caught.value)["code"] == "insufficient_quota"
            short = await client.responses.create(model="auto", input="and?", max_output_tokens=100)
            assert short.output_text == "#1 and?"


@pytest.mark.req("M1")
async def test_the_bounds_of_a_key_are_settings(tmp_path: Path) -> None:
    bounds = {"HERMES_V1__MAX_STORED_RESPONSES": "2", "HERMES_V1__MAX_BODY_BYTES": "4000"}
    async with storing_client(tmp_path / "home", **bounds) as client:
        made = [await client.responses.create(model="auto", input=f"{n}") for n in range(3)]
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(made[0].id)
        assert (await client.responses.retrieve(made[1].id)).output_text == "#1 1"

        long = await client.responses.create(model="auto", input="x" * 2_000)
        with pytest.raises(openai.APIStatusError) as caught:
            await client.responses.create(model="auto", input="more", previous_response_id=long.id)
        assert caught.value.status_code == 413
        assert "v1.max_body_bytes" in words_of(caught.value)["message"]


@pytest.mark.req("M1")
async def test_what_a_stored_response_cannot_do_is_refused_by_name(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        secret = await secret_of(live, "--store-responses")
        async with client_of(live, secret) as client:
            kept = await client.responses.create(model="auto", input="one")
        headers = {"authorization": f"Bearer {secret}"}
        async with aiohttp.ClientSession(live.url, headers=headers) as http:
            for path, name in (
                ("?stream=true", "stream"),
                ("/input_items?limit=0", "limit"),
                ("/input_items?limit=101", "limit"),
                ("/input_items?order=up", "order"),
                ("/input_items?after=msg_9", "after"),
            ):
                async with http.get(f"/v1/responses/{kept.id}{path}") as answer:
                    assert answer.status == 400
                    assert (await answer.json())["error"]["message"].startswith(name)
        async with (
            aiohttp.ClientSession(live.url) as http,
            http.get(f"/v1/responses/{kept.id}") as answer,
        ):
            assert answer.status == 401


@pytest.mark.req("M1", "A8")
async def test_why_of_a_response_says_whether_it_is_stored(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        secret = await secret_of(live, "--store-responses")
        async with client_of(live, secret) as client:
            kept = await client.responses.create(model="auto", input="hello")
            lost = await client.responses.create(model="auto", input="hello", store=False)
        await live.stop()
        _, of_kept, _ = await hermes(live, "why", kept.id)
        _, of_lost, _ = await hermes(live, "why", lost.id)

    assert of_kept.splitlines()[-1].startswith("The response is stored for its key until 20")
    assert of_lost.splitlines()[-1] == "The messages of this call are not stored."
