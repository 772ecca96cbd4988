"""Markdown that is written reads back as what it was written from, and is not full of escapes."""

import pytest
from hypothesis import given, settings

from hermes.message.markup.parse import parse
from hermes.message.markup.write import write
from tests.unit.message.markup.awkward import markdown, raw

pytestmark = pytest.mark.req("A26")

# Each of them once meant something else after it was written by a simpler writer.
AWKWARD = (
    *(
        '**"a"**&#98;',
        'a&#98;**"c"**',
        "**&#32;a&#32;**b",
        "*a*__b__*c*",
        '*a*__"b"__',
        "~~**a**~~b",
        "***a** b*",
    ),
    *(
        "**_a_**",
        "_**a**_",
        "**a *b***\n*c*",
        "**[a](http://b)**c",
        "~~a~~\\~",
        "\\~~~a~~",
        "\\**a*",
    ),
    *(
        "1\\. a",
        "12\\) a",
        "\\# a",
        "\\> a",
        "\\- a",
        "\\+ a",
        "\\* a",
        "\\* * *",
        "a\n\\---",
        "a\n\\===",
    ),
    *("|a|b|\n\\|-|-|", "a|b\n\\:-|-:", "\\[x]: http://y", "\\![a](http://b)", "!\\[a](http://b)"),
    *(
        "&amp;lt; &amp;#42;",
        "\\<http://a.b>",
        "\\<a@b.c>",
        "\\`a`",
        "`` ` ``",
        "``  a  ``",
        "`\\`",
        "a\\\\",
    ),
    *("\\_x\\_ a_b", "[a](<http://b.c/(d>)", "[a](http://b.c/?d&amp;lt;)", "[\\[x](http://b.c)"),
    *(
        "[<http://k>](mailto:b)",
        "![a\\]b](http://c)",
        "| a | b |\n|-|-|\n| x\\|y\\\\| `p\\|q` |",
        "| |\n|-|\n| |",
    ),
    *(
        "- a\n\n* b\n\n+ c",
        "1. a\n\n1) b",
        "- - - a",
        "- ___\n- b",
        "-\n- b",
        "- -\n",
        "999999999. a\n1. b",
    ),
    *(
        "- a\n\n  b\n- c",
        "- a\n  2. b",
        "- ```\n  \ta\n\n  b\n  ```",
        "> ```\n> \ta\n> ```",
        "````\n```\n````",
    ),
    *(
        "# a \\#",
        "# \\#",
        "# a#",
        "Title *two*\nlines\n===",
        "> a\n\n> b",
        "> - a\n> > b",
        "- > a\n\n  b",
    ),
    "> " * 30 + "**deep** \\> words",
)


@pytest.mark.parametrize("text", AWKWARD)
def test_what_was_hard_survives_being_written(text: str) -> None:
    document = parse(text)

    assert parse(write(document)) == document


@settings(max_examples=200, deadline=None)
@given(raw)
def test_awkward_text_survives_being_written(text: str) -> None:
    document = parse(text)

    assert parse(write(document)) == document


@settings(max_examples=60, deadline=None)
@given(markdown)
def test_documents_survive_being_written(text: str) -> None:
    document = parse(text)

    assert parse(write(document)) == document


@pytest.mark.parametrize(
    "text",
    [
        "Hello! It's ~5 km, snake_case, 2 * 3 < 7, a & b, [1] (see #4); 50% - or so: x|y.",
        "**bold _and_ more** with a [link](https://a.b/c_d?e=f&g=h) and `code`.\nNext line",
        "# Title\n\n- one\n  - two\n- three\n\n1. a\n2. b\n\n> said\n\n```py\nx = 1\n```\n\n---",
        "| a | b |\n| --- | --- |\n| 1 | *2* |",
    ],
)
def test_what_is_well_written_stays_as_it_is(text: str) -> None:
    assert write(parse(text)) == text
