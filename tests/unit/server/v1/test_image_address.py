"""The kind of a picture is read off the end of its address."""

import pytest

from hermes.server.v1.image_address import image_media


@pytest.mark.req("A8")
@pytest.mark.parametrize(("length", "mime"), [(100, "image/png"), (1_000_000, "image/jpeg")])
def test_the_end_of_a_very_long_address_is_not_searched(length: int, mime: str) -> None:
    assert image_media(f"https://e.org/{'.' * length}.png", "url").mime == mime
