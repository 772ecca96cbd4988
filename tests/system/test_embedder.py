"""The built-in embedder in the real gateway: there without a key, for vectors and for no answer."""

from pathlib import Path

import openai
import pytest

from tests.system.test_v1_gateway import HELLO, gateway, key_of, openai_client


@pytest.mark.req("A12", "P1", "P3")
async def test_it_embeds_and_is_never_asked_to_answer(tmp_path: Path) -> None:
    async with gateway(tmp_path) as live:
        secret, _ = await key_of(live)
        async with openai_client(live, secret) as client:
            named = await client.embeddings.create(model="minilm", input=["tea", "a cup of tea"])
            routed = await client.embeddings.create(model="auto", input="tea")
            listed = [model.id async for model in await client.models.list()]
            with pytest.raises(openai.NotFoundError, match="minilm"):
                await client.chat.completions.create(model="minilm", messages=HELLO)
            told = await client.chat.completions.create(model="auto", messages=HELLO)

    assert [len(row.embedding) for row in named.data] == [384, 384]
    assert routed.data[0].embedding == pytest.approx(named.data[0].embedding, abs=1e-5)
    assert listed
    assert not [name for name in listed if "minilm" in name]
    assert "minilm" not in told.model
