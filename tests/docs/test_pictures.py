"""The pictures are real, and can be taken again from the program as it is now."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT
from tests.system.chromium import CHROMIUM

IMAGES = ROOT / "docs" / "images"
PICTURES = ("chat.png", "chat-dark.png", "chat-phone.png", "dashboard.png")


def size_of(picture: Path) -> tuple[int, int]:
    """Return width and height, as the file's own head says them."""
    head = picture.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n"), f"{picture} is no PNG"
    width, height = struct.unpack(">II", head[16:24])
    return width, height


@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_are_large_enough_to_be_read(name: str) -> None:
    width, height = size_of(IMAGES / name)

    assert min(width, height) >= 700


@pytest.mark.req("W9")
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
def test_the_pictures_can_be_taken_again(tmp_path: Path) -> None:
    # when the tool talks to a fresh gateway
    tool = ROOT / "tools" / "take_screenshots.py"
    done = subprocess.run(
        [sys.executable, tool, "--out", tmp_path], capture_output=True, text=True, check=False
    )

    # then it takes the pictures that the pages show
    assert done.returncode == 0, done.stderr
    assert {name: size_of(tmp_path / name) for name in PICTURES} == {
        name: size_of(IMAGES / name) for name in PICTURES
    }
