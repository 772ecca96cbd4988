"""Images on every wire: by value they are native bytes, and one that cannot be shown leaves a line."""

import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hermes.errors import ProviderRejected
from hermes.message.chat import ChatMessage
from hermes.message.parts import ImagePart, Media, TextPart
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.provider import ModelRequest
from hermes.testing.faulty_upstream import FaultyUpstream
from hermes.testing.faulty_upstream_answers import MODEL, Dialect
from tests.faults.callers import DIALECTS, Limits, provider_at

LIMITS = Limits(silence_s=15.0, limit_s=15.0)
PNG = "iVBORw0KGgo="
URL = f"data:image/png;base64,{PNG}"
GONE = "[an image was attached; it is no longer available or too large]"
TOO_LARGE = 20_000_001


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


# Any: JSON as it went over the wire.
async def sent(media: Media, dialect: Dialect, *, client: HttpClient) -> Any:
    """Return what the service was sent of a message with an image and a word."""
    message = ChatMessage("user", (ImagePart(media), TextPart("see?")))
    request = ModelRequest(model=MODEL, messages=(message,))
    async with FaultyUpstream() as upstream:
        provider = provider_at(upstream, dialect, client=client, limits=LIMITS)
        [event async for event in provider.stream(request)]
    body = upstream.requests[0].json()
    conversation = body.get("messages") or body.get("input") or body.get("contents")
    return conversation[0]


BY_VALUE: dict[Dialect, Any] = {
    "openai": {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": URL}},
            {"type": "text", "text": "see?"},
        ],
    },
    "openai_responses": {
        "role": "user",
        "content": [
            {"type": "input_image", "image_url": URL, "detail": "auto"},
            {"type": "input_text", "text": "see?"},
        ],
    },
    "anthropic": {
        "role": "user",
        "content": [
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PNG},
            },
            {"type": "text", "text": "see?"},
        ],
    },
    "gemini": {
        "role": "user",
        "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}, {"text": "see?"}],
    },
    "ollama": {"role": "user", "content": "see?", "images": [PNG]},
}


@pytest.mark.req("M7")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_image_by_value_is_native_on_every_wire(dialect, client):
    media = Media("application/octet-stream", url=URL)

    assert await sent(media, dialect, client=client) == BY_VALUE[dialect]


@pytest.mark.req("M7")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_image_file_that_cannot_be_shown_leaves_a_line(dialect, client, tmp_path):
    large = tmp_path / "large.png"
    large.touch()
    os.truncate(large, TOO_LARGE)

    for path in (large, tmp_path / "gone.png"):
        found = str(await sent(Media("image/png", path=str(path)), dialect, client=client))
        assert (GONE in found, "see?" in found) == (True, True)


@pytest.mark.req("M7")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_image_by_value_that_is_too_large_leaves_a_line(dialect, client):
    media = Media("image/png", url="data:image/png;base64," + "A" * (TOO_LARGE // 3 * 4 + 4))

    assert GONE in str(await sent(media, dialect, client=client))


@pytest.mark.req("M7", "A23")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_malformed_image_by_value_is_refused_before_anything_is_sent(dialect, client):
    with pytest.raises(ProviderRejected, match="not base64") as caught:
        await sent(Media("image/png", url="data:image/png;base64,!"), dialect, client=client)

    assert caught.value.everywhere
