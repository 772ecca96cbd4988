"""OpenAI's and Anthropic's own SDKs as clients of embeddings and of the list of models."""

from collections.abc import AsyncIterator
from typing import Any

import anthropic
import openai
import pytest

from tests.system.scripted_wire import MODELS, ScriptedWire, running


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with running(ScriptedWire()) as address:
        yield address


@pytest.fixture
async def client(url: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as made:
        yield made


@pytest.mark.req("M1", "A12")
@pytest.mark.parametrize("more", [{}, {"encoding_format": "float"}])
async def test_embeddings(client: openai.AsyncOpenAI, more: Any) -> None:
    told = await client.embeddings.create(model="small", input=["one", "three"], **more)
    assert [row.embedding for row in told.data] == [[3.0, 0.5], [5.0, 0.5]]
    assert (told.model, told.usage.total_tokens) == ("small-1", 10)


@pytest.mark.req("M1", "A12")
async def test_token_numbers_and_texts_are_not_mixed(client: openai.AsyncOpenAI) -> None:
    mixed: Any = [1, "two"]
    with pytest.raises(openai.BadRequestError, match="input mixes token numbers"):
        await client.embeddings.create(model="small", input=mixed)


@pytest.mark.req("P6")
async def test_both_clients_list_all_models(client: openai.AsyncOpenAI, url: str) -> None:
    ids = [model.id for model in MODELS]
    assert [model.id async for model in client.models.list()] == ids
    async with anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as other:
        assert [model.id async for model in other.models.list()] == ids
        assert [model.id async for model in other.models.list(before_id="m3", limit=2)] == [
            *("m1", "m2"),
            "m0",
        ]
        one = await other.models.retrieve("m7")
    assert (one.id, one.type, one.display_name) == ("m7", "model", "m7")
    assert (await client.models.retrieve("m7")).owned_by == "cloud"
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("none")
