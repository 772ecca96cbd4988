"""A long text is cut into pieces where no word goes on."""

import pytest

from hermes.message.markup.model import Paragraph, Text
from hermes.message.markup.parse import parse
from hermes.message.pieces import PIECE_CHARS, pieces


@pytest.mark.req("A8")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("abcde", ["abcde"]),
        ("ab cd efg", ["ab cd ", "efg"]),
        ("ab\ncd ef", ["ab\ncd ", "ef"]),
        ("abcdefghijkl", ["abcdef", "ghijkl"]),
        (" abcdefgh", [" ", "abcdef", "gh"]),
    ],
)
def test_pieces_end_with_a_mark_if_there_is_one(text: str, expected: list[str]) -> None:
    assert list(pieces(text, marks="\n ", size=6)) == expected


@pytest.mark.req("A8")
def test_a_very_long_reply_is_read_as_words() -> None:
    line = "*not* styled "
    document = parse(line * (PIECE_CHARS // len(line) + 1))
    first, last = document
    assert isinstance(first, Paragraph)
    assert first.spans == (Text((line * (PIECE_CHARS // len(line)) + "*not*").strip()),)
    assert last == Paragraph((Text("styled"),))
