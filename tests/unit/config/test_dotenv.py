"""The `.env` parser: what it reads, and what it refuses."""

import pytest

from hermes.config.dotenv import Dotenv, parse

pytestmark = pytest.mark.req("W1")


def test_the_usual_spellings_are_read():
    text = """\
# a comment

A=plain
export B=exported
  C = spaced  # a comment
D='single $HOME \\n # kept'
E="double \\"quoted\\" \\n \\\\ # kept"  # a comment
F=
G=a#b
"""

    assert parse(text + "H=last\r\n") == Dotenv(
        {
            "A": "plain",
            "B": "exported",
            "C": "spaced",
            "D": "single $HOME \\n # kept",
            "E": 'double "quoted" \n \\ # kept',
            "F": "",
            "G": "a#b",
            "H": "last",
        },
        (),
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("1A=x", "expected NAME=value; write it so, or start the line with # to ignore it"),
        ("A", "expected NAME=value; write it so, or start the line with # to ignore it"),
        (
            "A='x",
            "the value of A opens a quote that does not close at its end; "
            "close it on the same line",
        ),
        (
            "A='x'y",
            "the value of A opens a quote that does not close at its end; "
            "close it on the same line",
        ),
        ("A=x y", "the value of A contains a space or a quote; put it in single quotes"),
        ("A=it's", "the value of A contains a space or a quote; put it in single quotes"),
        (
            'A="\\q"',
            "the value of A has a backslash before a character that needs none; "
            "write \\\\ for a backslash, or use single quotes",
        ),
        ("B=2", "B is set on line 1 already; remove one of them"),
    ],
)
def test_anything_else_is_a_fault_with_its_line(line, fault):
    parsed = parse(f"B=1\n{line}\nC=3\n")

    assert parsed == Dotenv({"B": "1", "C": "3"}, (f".env line 2: {fault}",))
