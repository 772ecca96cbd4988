"""Pictures that no model could read are told apart before anybody pays for a look at them."""

import base64
from pathlib import Path

import pytest

from hermes.message.parts import ImagePart, Media
from hermes.message.picture_kind import picture_kind
from hermes.pipeline.image_descriptions import GONE, NO_PICTURE, TOO_LARGE, problems_of

HEADS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a",
    "image/webp": b"RIFF\x00\x00\x00\x00WEBP",
}


def by_value(body: bytes) -> Media:
    return Media("image/png", url=f"data:image/png;base64,{base64.b64encode(body).decode()}")


@pytest.mark.req("A16")
@pytest.mark.parametrize(("kind", "head"), HEADS.items())
def test_the_kind_is_told_by_the_first_bytes(kind: str, head: bytes) -> None:
    assert picture_kind(head + bytes(20)) == kind
    assert picture_kind(b"<svg" + head) is None


@pytest.mark.req("A16")
async def test_each_picture_has_its_own_problem_or_none(tmp_path: Path) -> None:
    good, text, large = tmp_path / "good", tmp_path / "text", tmp_path / "large"
    good.write_bytes(HEADS["image/webp"] + bytes(90))
    text.write_bytes(b"not a picture")
    with large.open("wb") as file:
        file.truncate(20_000_001)
    expected = [
        (Media("image/webp", path=str(good)), None),
        (Media("image/webp", path=str(text)), NO_PICTURE),
        (Media("image/webp", path=str(large)), TOO_LARGE),
        (Media("image/webp", path=str(tmp_path)), GONE),
        (Media("image/webp", path=str(tmp_path / "none")), GONE),
        (Media("image/webp"), GONE),
        (by_value(HEADS["image/jpeg"] + bytes(50)), None),
        (by_value(b"hello"), NO_PICTURE),
        (by_value(b""), NO_PICTURE),
        (Media("image/png", url="data:image/png;base64,!!!"), NO_PICTURE),
        (Media("image/png", url="data:image/png;base64," + "A" * 27_000_000), TOO_LARGE),
        (Media("image/svg+xml", url="data:image/svg+xml,%3Csvg%3E"), None),
        (Media("image/png", url="https://pictures.example/a.png"), None),
        (Media("image/png", url="file:///etc/passwd"), NO_PICTURE),
    ]

    found = await problems_of(tuple(ImagePart(media) for media, _ in expected))

    assert list(found) == [problem for _, problem in expected]
