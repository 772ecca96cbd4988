"""Plain text reads well without any formatting, and tables stay in their columns."""

import pytest
from hypothesis import given, settings

from hermes.message.markup.model import Table
from hermes.message.markup.parse import parse
from hermes.message.markup.plain import plain
from hermes.message.markup.tables import as_lines, display_width
from tests.unit.message.markup.awkward import markdown

pytestmark = pytest.mark.req("A26")


def table(text: str) -> Table:
    (block,) = parse(text)
    assert isinstance(block, Table)
    return block


def test_every_block_reads_well() -> None:
    text = """# Title
A **bold** [link](https://a.b/c) and <https://d.e>.
Second line.

- one
- two
  1. first
  2. second

     more

> said
> twice

```sh
  ls -l
```
***
| a | bb |
| - | - |
| long | x |
"""

    assert (
        plain(parse(text))
        == """Title

A bold link (https://a.b/c) and https://d.e.
Second line.

- one
- two
  1. first
  2. second

     more

> said
> twice

  ls -l

---

a     bb
----  --
long  x"""
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a@b.c](mailto:a@b.c)", "a@b.c"),
        ("[a.b/c](https://a.b/c)", "a.b/c"),
        ("[call](tel:+49)", "call (tel:+49)"),
        ("![cat](https://a.b/c.png)", "cat (https://a.b/c.png)"),
        ("![](https://a.b/c.png)", "https://a.b/c.png"),
    ],
)
def test_an_address_is_said_once(text: str, expected: str) -> None:
    assert plain(parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("日本", 4),
        ("e\u0301", 1),
        ("👩‍👩‍👧", 2),
        ("🇩🇪🇫🇷", 4),
        ("👍🏽", 2),
        ("☀️", 2),
        ("한글", 4),
        ("", 0),
    ],
)
def test_width_is_what_a_terminal_shows(text: str, width: int) -> None:
    assert display_width(text) == width


def test_columns_are_aligned_with_wide_characters_too() -> None:
    lines = as_lines(table("| name | n |\n|-|-|\n| 日本語 | 1 |\n| 👩‍👩‍👧 | **2** |"))

    assert lines == ("name    n", "------  -", "日本語  1", "👩‍👩‍👧      2")


def test_a_table_that_is_too_wide_becomes_a_line_for_every_cell() -> None:
    made = table("| name | what |\n|-|-|\n| a | first thing |\n| b | |")

    assert as_lines(made, width=12) == ("name: a", "what: first thing", "", "name: b")


@settings(max_examples=40, deadline=None)
@given(markdown)
def test_there_is_nothing_around_what_is_said(text: str) -> None:
    said = plain(parse(text)).split("\n")

    assert said == [""] or (said[0] and said[-1])
