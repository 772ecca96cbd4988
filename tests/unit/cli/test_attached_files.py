"""`hermes chat --file`: texts become part of the message, everything else is refused with words."""

from pathlib import Path

import pytest

from hermes.cli.attached_files import MOST_BYTES, attached_text
from hermes.errors import BadRequest, TooLarge


@pytest.mark.req("W7")
def test_a_text_is_sent_with_its_name_in_a_block_that_it_cannot_end(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("one\n```\ntwo\n", encoding="utf-8")

    assert attached_text([file]) == "[file: notes.md]\n````\none\n```\ntwo\n````"


@pytest.mark.req("W7")
def test_no_file_is_no_text() -> None:
    assert attached_text([]) == ""


@pytest.mark.req("W7")
@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n", b"a\0b", b"\xff\xfe"])
def test_what_is_no_text_is_refused_with_what_to_do(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(data)

    with pytest.raises(BadRequest, match="is not a text in UTF-8: the terminal sends text files"):
        attached_text([file])


@pytest.mark.req("W7")
def test_a_file_is_bounded_and_so_are_several(tmp_path: Path) -> None:
    large, half = tmp_path / "large.txt", tmp_path / "half.txt"
    large.write_text("x" * (MOST_BYTES + 1))
    half.write_text("x" * (MOST_BYTES // 2))

    with pytest.raises(TooLarge, match="80,001 bytes"):
        attached_text([large])
    with pytest.raises(TooLarge, match="together"):
        attached_text([half, half])


@pytest.mark.req("W7")
def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="is not a file"):
        attached_text([tmp_path])
    with pytest.raises(BadRequest, match=r"Cannot read .*No such file"):
        attached_text([tmp_path / "missing"])
