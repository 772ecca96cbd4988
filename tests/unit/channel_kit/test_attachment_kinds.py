"""An attachment is sent as the first kind that takes it, or as what that kind's row says."""

import pytest

from hermes.channel_kit.attachments import kind_for
from hermes.channel_kit.bodies import objects_at, text_at
from hermes.ports.channel_rows import MediaRow

ROWS = {
    "image": MediaRow(mimes=("image/png",), bytes=10, otherwise="file"),
    "audio": MediaRow(mimes=("audio/*",), bytes=10),
    "file": MediaRow(mimes=("*/*",), bytes=20),
}


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("mime", "size", "kind"),
    [
        ("image/png", 10, "image"),
        ("IMAGE/PNG; q=1", 11, "file"),
        ("image/webp", 5, "file"),
        ("audio/ogg; codecs=opus", 10, "audio"),
        ("audio/ogg", 11, "file"),
        ("text/plain", 21, ""),
        ("image/png", 21, ""),
    ],
)
def test_a_row_takes_its_types_up_to_its_size(mime: str, size: int, kind: str) -> None:
    assert kind_for(ROWS, mime, size=size) == kind


def test_without_a_row_for_it_nothing_is_sent() -> None:
    assert kind_for({"image": ROWS["image"]}, "text/plain", size=1) == ""


@pytest.mark.req("A2")
def test_what_a_stranger_sent_is_read_by_paths_and_never_fails() -> None:
    found = {"a": [{"b": 2**63, "c": True, "d": None, "e": 1.5}, 5, {"b": "x"}]}

    assert [text_at(found, f"a.0.{name}") for name in "bcdez"] == [str(2**63), "", "", "", ""]
    assert objects_at(found, "a") == [found["a"][0], {"b": "x"}]
    assert (objects_at(found, "a", most=1), objects_at(found, "b"), objects_at(5, "a")) == (
        [found["a"][0]],
        [],
        [],
    )
