"""The provider against the strict stand-in: whether it is there, embeddings, images, refusals."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import msgspec
import pytest

from hermes.errors import ProviderRejected, ProviderUnavailable
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import ImagePart, Media, Part, TextPart
from hermes.message.reply import Usage
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.provider import Embedder, Embedding, ModelRequest
from hermes.providers.ollama.provider import OllamaProvider
from hermes.providers.ollama.settings import OllamaSettings
from hermes.testing.ollama_server import OllamaServer
from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


def provider(server: ScriptedHttp | OllamaServer, client: HttpClient, **fields) -> OllamaProvider:
    settings = OllamaSettings(name="o", model="stand-in-1", base_url=server.origin)
    return OllamaProvider(msgspec.structs.replace(settings, **fields), client)


def showing(*parts: Part) -> ModelRequest:
    return ModelRequest(model="stand-in-1", messages=(ChatMessage("user", parts),))


@pytest.mark.req("P6")
@pytest.mark.parametrize(
    ("models", "enabled", "available"),
    [(("stand-in-1",), True, True), ((), True, False), (("stand-in-1",), False, False)],
)
async def test_it_is_available_when_it_is_enabled_and_has_a_model(
    client, models, enabled, available
):
    async with OllamaServer(models=models) as server:
        assert await provider(server, client, enabled=enabled).available() is available


@pytest.mark.req("P6")
@pytest.mark.parametrize(("status", "body"), [(500, b"{}"), (200, b"<html>"), (404, b"")])
async def test_a_server_that_is_none_is_not_available(client, status, body):
    async def answer(_received: ReceivedRequest, out: Out) -> None:
        out.whole(status, body)

    async with ScriptedHttp(answer) as server:
        assert not await provider(server, client).available()


@pytest.mark.req("P6")
async def test_a_server_that_hangs_is_asked_for_no_longer_than_its_limit(client):
    async def answer(_received: ReceivedRequest, _out: Out) -> None:
        await asyncio.Event().wait()

    async with ScriptedHttp(answer) as server:
        silent = provider(server, client, probe_timeout_s=0.05)

        assert not await asyncio.wait_for(silent.available(), 5)


@pytest.mark.req("P6", "A20")
async def test_texts_are_embedded_in_their_order(client):
    async with OllamaServer(models=("nomic-embed-text",)) as server:
        made = provider(server, client)
        found = await made.embed(("a", "bb"), model="")

    assert isinstance(made, Embedder)
    assert found == Embedding(((1.0, 1.0, 0.5), (2.0, 1.0, 0.5)), Usage(3, 0), "nomic-embed-text")


@pytest.mark.req("A23")
@pytest.mark.parametrize(
    "body", [b'{"embeddings":[[1.0]]}', b'{"embeddings":[[1.0],[]]}', b"[]", b""]
)
async def test_anything_but_one_vector_for_each_text_is_an_error(client, body):
    async def answer(_received: ReceivedRequest, out: Out) -> None:
        out.whole(200, body)

    async with ScriptedHttp(answer) as server:
        with pytest.raises(ProviderUnavailable, match="embedding"):
            await provider(server, client).embed(("a", "b"), model="e")


@pytest.mark.req("A23")
async def test_a_model_that_is_not_there_is_named(client):
    request = ModelRequest(model="absent", messages=(user_text("hi"),))

    async with OllamaServer() as server:
        with pytest.raises(ProviderRejected, match="model 'absent' not found") as chat:
            [event async for event in provider(server, client).stream(request)]
        with pytest.raises(ProviderRejected) as embedding:
            await provider(server, client).embed(("a",), model="gone")

    assert (chat.value.everywhere, chat.value.status) == (False, 404)
    assert "run `ollama pull absent`" in str(chat.value)
    assert "run `ollama pull gone`" in str(embedding.value)


@pytest.mark.req("M7")
async def test_an_image_file_is_sent_as_its_bytes(client, tmp_path):
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG")
    image = ImagePart(Media("image/png", path=str(picture)))
    request = showing(image, TextPart("see?"))

    async with OllamaServer() as server:
        [event async for event in provider(server, client).stream(request)]

    message = server.requests[0].json()["messages"][0]
    assert message == {"role": "user", "content": "see?", "images": ["iVBORw=="]}


@pytest.mark.req("M7")
async def test_an_image_at_an_address_is_fetched_and_sent_as_its_bytes(tmp_path):
    async def picture(_received: ReceivedRequest, out: Out) -> None:
        out.whole(200, b"\x89PNG\r\n\x1a\n", kind="image/png")

    client = HttpClient(HttpSettings(exempt=("127.0.0.1/32",)))
    async with OllamaServer() as server, ScriptedHttp(picture) as web:
        image = ImagePart(Media("image/jpeg", url=f"{web.origin}/a?b"))
        lost = Media("image/png", path=str(tmp_path / "gone"), url=f"{web.origin}/a?b")
        request = showing(image, ImagePart(lost), TextPart("see?"))
        [event async for event in provider(server, client).stream(request)]
        [event async for event in provider(server, client, vision=False).stream(request)]
    await client.close()

    seen, unseen = (one.json()["messages"][0] for one in server.requests)
    assert seen == {"role": "user", "content": "see?", "images": ["iVBORw0KGgo="] * 2}
    assert unseen["content"].count("this model cannot see images") == 2
    assert [one.path for one in web.requests] == ["/a?b"]


@pytest.mark.req("M7", "A23", "W34")
async def test_an_image_that_cannot_be_fetched_is_refused_before_anything_is_sent(client):
    image = ImagePart(Media("image/png", url="https://10.0.0.1/hidden?key=k"))

    async with OllamaServer() as server:
        with pytest.raises(ProviderRejected, match=r"o: the picture at 10\.0\.0\.1") as caught:
            [event async for event in provider(server, client).stream(showing(image))]

    assert not caught.value.everywhere
    assert "hidden" not in str(caught.value)
    assert server.requests == []


@pytest.mark.req("A9")
async def test_closing_a_call_closes_its_connection(client):
    request = ModelRequest(model="stand-in-1", messages=(user_text("[[deltas:3]][[hang:1]] abc"),))

    async with OllamaServer() as server:
        async with aclosing(provider(server, client).stream(request)) as events:
            await anext(events)
        await asyncio.wait_for(server.disconnected.wait(), 5)


@pytest.mark.req("W35", "M2")
async def test_a_wrong_key_is_rejected_and_not_repeated_in_the_error(client):
    request = ModelRequest(model="stand-in-1", messages=(user_text("hi"),))

    async with OllamaServer(key="right") as server:
        wrong = provider(server, client, api_key="wrong-key-of-mine")
        with pytest.raises(ProviderRejected, match="401") as caught:
            [event async for event in wrong.stream(request)]
        right = provider(server, client, api_key="right")
        answered = [event async for event in right.stream(request)]

    assert "wrong-key-of-mine" not in str(caught.value)
    assert answered
