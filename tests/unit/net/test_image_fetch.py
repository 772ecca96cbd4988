"""Pictures by address: fetched through the guard, checked, and given by value; or a clear refusal."""

import asyncio
import base64
from collections.abc import AsyncIterator

import pytest

from hermes.errors import ProviderRejected
from hermes.media.image_fetch import FetchLimits, with_fetched_images
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import ImagePart, Media, Part, TextPart
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.provider import ModelRequest
from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp

PNG = b"\x89PNG\r\n\x1a\n and so on"
KINDS = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0 and so on",
    "image/gif": b"GIF89a and so on",
    "image/webp": b"RIFF\x10\0\0\0WEBPVP8 and so on",
}


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings(exempt=("127.0.0.1/32",)))
    yield made
    await made.close()


def by_value(mime: str, body: bytes) -> ImagePart:
    return ImagePart(Media(mime, url=f"data:{mime};base64,{base64.b64encode(body).decode()}"))


def at(url: str, path: str | None = None) -> ImagePart:
    return ImagePart(Media("image/jpeg", url=url, path=path))


def showing(*parts: Part) -> ModelRequest:
    return ModelRequest(model="m", messages=(ChatMessage("user", parts),))


def giving(
    body: bytes = PNG, kind: str = "image/png", *, status: int = 200, **headers: str
) -> ScriptedHttp:
    async def answer(_received: ReceivedRequest, out: Out) -> None:
        out.whole(status, body, kind=kind, **headers)

    return ScriptedHttp(answer)


async def refusal(
    request: ModelRequest, client: HttpClient, limits: FetchLimits | None = None
) -> ProviderRejected:
    with pytest.raises(ProviderRejected) as caught:
        await with_fetched_images(request, client, provider="house", limits=limits or FetchLimits())
    return caught.value


@pytest.mark.req("M7")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_picture_at_an_address_is_given_by_value_with_its_true_type(client, kind):
    async with giving(KINDS[kind], f"{kind}; charset=binary") as server:
        request = showing(TextPart("see?"), at(f"{server.origin}/a"))
        found = await with_fetched_images(request, client, provider="house")

    assert found == showing(TextPart("see?"), by_value(kind, KINDS[kind]))


@pytest.mark.req("M7")
async def test_the_bytes_tell_the_type_where_the_header_names_another_picture(client):
    async with giving(KINDS["image/webp"], "image/jpg") as server:
        found = await with_fetched_images(
            showing(at(f"{server.origin}/a")), client, provider="house"
        )

    assert found == showing(by_value("image/webp", KINDS["image/webp"]))


@pytest.mark.req("M7")
async def test_what_is_here_already_is_not_fetched(client):
    request = ModelRequest(
        model="m",
        messages=(
            user_text("hi"),
            ChatMessage("user", (by_value("image/png", PNG), ImagePart(Media("image/png")))),
            ChatMessage("user", (at("https://private.test/a", path="/a.png"),)),
            ChatMessage("assistant", (at("https://shown.test/by-the-model"),)),
        ),
    )

    found = await with_fetched_images(request, client, provider="house", loaded={"/a.png": "A"})

    assert found is request


@pytest.mark.req("M7")
async def test_pictures_are_fetched_at_the_same_time_and_the_same_one_once(client):
    asked: list[str] = []
    both = asyncio.Event()

    async def answer(received: ReceivedRequest, out: Out) -> None:
        asked.append(received.path)
        if len(asked) == 2:
            both.set()
        await asyncio.wait_for(both.wait(), 5)
        out.whole(200, PNG, kind="image/png")

    async with ScriptedHttp(answer) as server:
        a, b = at(f"{server.origin}/a"), at(f"{server.origin}/b")
        found = await with_fetched_images(showing(a, b, a), client, provider="house")

    assert sorted(asked) == ["/a", "/b"]
    assert found == showing(*[by_value("image/png", PNG)] * 3)


@pytest.mark.req("M7", "A23")
@pytest.mark.parametrize(
    ("server", "why"),
    [
        (giving(status=404), "the host answered 404"),
        (giving(b"<html>", "text/html"), "found the type 'text/html'"),
        (giving(kind=""), "found no type"),
        (giving(b"<svg/>", "image/svg+xml"), "found the type 'image/svg+xml'"),
        (giving(b"<html>", "image/png"), "its bytes are not one of image/png"),
        (giving(PNG + bytes(100)), "exceeds 100 bytes"),
    ],
)
async def test_what_is_no_picture_is_refused_and_only_its_host_is_named(client, server, why):
    async with server:
        request = showing(at(f"{server.origin}/secret-path?token=secret-query"))
        error = await refusal(request, client, FetchLimits(image_bytes=100))

    assert (error.everywhere, error.status, error.__context__) == (False, 400, error.__cause__)
    assert str(error).startswith("house: the picture at 127.0.0.1 cannot be fetched: ")
    assert why in str(error)
    assert "secret" not in str(error)


@pytest.mark.req("M7", "A23")
async def test_the_pictures_of_one_call_together_have_a_limit(client):
    async with giving() as server:
        request = showing(at(f"{server.origin}/a"), at(f"{server.origin}/b"))
        error = await refusal(request, client, FetchLimits(request_bytes=2 * len(PNG) - 1))

    assert f"the pictures of this call exceed {2 * len(PNG) - 1} bytes" in str(error)


@pytest.mark.req("M7", "A23")
async def test_a_picture_that_drips_is_waited_for_no_longer_than_its_limit(client):
    async def answer(_received: ReceivedRequest, out: Out) -> None:
        out.begin("image/png")
        out.frame(PNG)
        await asyncio.Event().wait()

    async with ScriptedHttp(answer) as server:
        request = showing(at(f"{server.origin}/a"))
        error = await asyncio.wait_for(refusal(request, client, FetchLimits(seconds=0.1)), 5)

    assert "it did not come whole within 0.1 s" in str(error)


@pytest.mark.req("W34", "M7")
@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1/a.png",
        "https://169.254.169.254/latest/a.png",
        "https://[::1]/a.png",
        "file:///etc/passwd",
        "https://[bad/a.png",
        "https://exa mple/a.png",
        "https://example.test:99999/a.png",
    ],
)
async def test_an_address_that_strangers_may_not_reach_is_refused(client, url):
    error = await refusal(showing(at(url)), client)

    assert not error.everywhere
    assert "cannot be fetched" in str(error)
    assert "a.png" not in str(error)


@pytest.mark.req("W34", "M7")
async def test_a_redirect_to_a_private_address_is_refused(client):
    async with giving(b"", status=302, Location="http://192.168.0.1/a.png") as server:
        error = await refusal(showing(at(f"{server.origin}/a")), client)

    assert "192.168.0.1 leads to an address that may not be fetched (a private network" in str(
        error
    )
    assert "a.png" not in str(error)


@pytest.mark.req("A23", "M7")
async def test_a_host_that_is_not_there_is_named(client):
    async with giving() as server:
        gone = server.origin

    error = await refusal(showing(at(f"{gone}/a")), client)

    assert "the picture at 127.0.0.1 cannot be fetched: cannot connect to 127.0.0.1" in str(error)
