"""The legacy completions of the real gateway, with OpenAI's own SDK as the client."""

import asyncio
from pathlib import Path

import openai
import pytest
from openai.types import Completion

from tests.system.test_v1_stored_responses import client_of, gateway, secret_of


@pytest.mark.req("M1")
async def test_openais_client_gets_completions_whole_and_streamed(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        secret = await secret_of(live)
        async with client_of(live, secret) as client:
            whole = await client.completions.create(model="auto", prompt="hello", max_tokens=9)
            Completion.model_validate(whole.to_dict())
            assert whole.choices[0].text == "#1 hello"
            assert whole.choices[0].finish_reason == "stop"
            assert whole.usage is not None

            stream = await client.completions.create(
                model="openai:gpt-4o-mini",
                prompt="[[deltas:5]] hello",
                stream=True,
                stream_options={"include_usage": True},
            )
            chunks = [chunk async for chunk in stream]
            text = "".join(chunk.choices[0].text for chunk in chunks if chunk.choices)
            assert text == "#1 [[deltas:5]] hello"
            assert chunks[-1].usage is not None

            with pytest.raises(openai.BadRequestError, match="suffix"):
                await client.completions.create(model="auto", prompt="hello", suffix="end")
            with pytest.raises(openai.NotFoundError):
                await client.completions.create(model="nobody:nothing", prompt="hello")

            agent = await client.completions.create(model="agent:main", prompt="hello")
            assert agent.choices[0].text == "#1 hello"


@pytest.mark.req("M1")
async def test_the_plain_client_stores_continues_and_completes(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        secret = await secret_of(live, "--store-responses")

        def use() -> list[str]:
            url = f"{live.url}/v1"
            with openai.OpenAI(base_url=url, api_key=secret, max_retries=0) as client:
                first = client.responses.create(model="auto", input="one", store=True)
                with client.responses.stream(
                    model="auto", input="two", previous_response_id=first.id, store=True
                ) as stream:
                    second = stream.get_final_response()
                found = client.responses.retrieve(second.id)
                items = client.responses.input_items.list(second.id)
                client.responses.delete(second.id)
                done = client.completions.create(model="auto", prompt="three", stream=True)
                text = "".join(chunk.choices[0].text for chunk in done)
                return [second.output_text, found.output_text, str(len([*items])), text]

        assert await asyncio.to_thread(use) == ["#2 two", "#2 two", "3", "#1 three"]
