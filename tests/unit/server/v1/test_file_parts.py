"""The kind of a picture is read off the end of its address."""

import pytest

from hermes.message.parts import Media
from hermes.server.v1.file_parts import image_media


@pytest.mark.req("A8")
@pytest.mark.parametrize(("length", "mime"), [(100, "image/png"), (1_000_000, "image/jpeg")])
def test_the_end_of_a_very_long_address_is_not_searched(length: int, mime: str) -> None:
    assert image_media(f"https://e.org/{'.' * length}.png", "url").mime == mime


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    "url", ["https://a.test/cat.png", "http://a.test/cat.png", "HTTP://a.test/cat.png?x=1"]
)
def test_a_picture_may_be_at_any_web_address(url: str) -> None:
    assert image_media(url, "image_url") == Media("image/png", url=url)
