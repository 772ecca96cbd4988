"""The provider's other calls: embeddings in batches, and whether a server of one's own is there."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from hermes.errors import ProviderRejected, ProviderUnavailable
from hermes.message.reply import Usage
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.provider import Embedder, Embedding
from hermes.providers.openai.presets import Quirks, presets
from hermes.providers.openai.provider import OpenAIProvider
from hermes.providers.openai.settings import OpenAISettings
from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp

EMBEDS = Quirks(embed_batch=2)


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


def provider(server: ScriptedHttp, client: HttpClient, **fields) -> OpenAIProvider:
    settings = OpenAISettings(name="m", model="m", base_url=f"{server.origin}/v1", **fields)
    return OpenAIProvider(settings, client)


async def embed(received: ReceivedRequest, out: Out) -> None:
    """Answer with the length of each text, the last text first."""
    texts = received.json()["input"]
    data = [{"index": n, "embedding": [len(text), 0.5]} for n, text in enumerate(texts)]
    usage = {"prompt_tokens": 10 * len(texts), "total_tokens": 0}
    body = {"object": "list", "data": data[::-1], "model": "e-1", "usage": usage}
    out.whole(200, msgspec.json.encode(body))


@pytest.mark.req("P6")
@pytest.mark.parametrize(
    ("service", "field"), [("openai", "dimensions"), ("mistral", "output_dimension")]
)
async def test_the_size_of_vectors_has_the_name_that_the_service_knows(client, service, field):
    quirks = msgspec.structs.replace(presets()[service].quirks, embed_batch=2)
    async with ScriptedHttp(embed) as server:
        made = provider(server, client, quirks=quirks)
        await made.embed_with(("a",), model="codestral-embed", dimensions=64)
        sent = server.requests[0].json()

    assert {name: sent[name] for name in sent if "dimension" in name} == {field: 64}


@pytest.mark.req("P6", "A20")
async def test_texts_are_embedded_in_batches_and_keep_their_order(client):
    async with ScriptedHttp(embed) as server:
        made = provider(server, client, api_key="key-1", embedding_model="e", quirks=EMBEDS)
        found = await made.embed(("a", "bb", "ccc"), model="")

    assert isinstance(made, Embedder)
    assert made.info.embeddings
    assert found == Embedding(((1.0, 0.5), (2.0, 0.5), (3.0, 0.5)), Usage(30, 0), "e-1")
    assert [(r.method, r.path, r.json()) for r in server.requests] == [
        (
            "POST",
            "/v1/embeddings",
            {"model": "e", "input": ["a", "bb"], "encoding_format": "float"},
        ),
        ("POST", "/v1/embeddings", {"model": "e", "input": ["ccc"], "encoding_format": "float"}),
    ]
    assert {r.headers["authorization"] for r in server.requests} == {"Bearer key-1"}


@pytest.mark.req("A23", "P6")
@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, b'{"data":[]}', ProviderUnavailable),
        (200, b'{"data":[{"embedding":[]}]}', ProviderUnavailable),
        (200, b"<html>", ProviderUnavailable),
        (200, b"", ProviderUnavailable),
        (503, b"{}", ProviderUnavailable),
        (400, b'{"error":{"message":"no such model"}}', ProviderRejected),
    ],
)
async def test_anything_but_one_vector_for_each_text_is_an_error(client, status, body, expected):
    async def answer(_received: ReceivedRequest, out: Out) -> None:
        out.whole(status, body)

    async with ScriptedHttp(answer) as server:
        with pytest.raises(expected) as caught:
            await provider(server, client).embed(("a",), model="e")

    assert type(caught.value) is expected


@pytest.mark.req("P6")
async def test_without_any_embedding_model_the_error_says_what_to_name(client):
    async with ScriptedHttp(embed) as server:
        with pytest.raises(ProviderRejected, match="name one"):
            await provider(server, client).embed(("a",), model="")

    assert server.requests == []


@pytest.mark.req("P6")
async def test_a_server_of_ones_own_is_available_only_while_it_answers(client):
    async def answer(_received: ReceivedRequest, out: Out) -> None:
        out.whole(200, b'{"object":"list","data":[]}')

    async with ScriptedHttp(answer) as server:
        settings = OpenAISettings(name="vllm", model="m", base_url=f"{server.origin}/v1")
        made = OpenAIProvider(settings, client)
        there = await made.available()
    gone = await made.available()

    assert (there, gone) == (True, False)
    assert [request.path for request in server.requests] == ["/v1/models"]
