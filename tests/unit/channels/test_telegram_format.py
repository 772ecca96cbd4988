"""Markdown as Telegram's HTML: what people read, what is counted, and that it is always taken."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hermes.channels.telegram.entities import utf16_length
from hermes.channels.telegram.format import measure, visible
from hermes.message.markup.marks import Marks
from hermes.message.markup.model import Code, Emphasis, Heading, Link, Paragraph, Strong, Text
from hermes.message.markup.parse import parse
from hermes.plugins.manifest import load_manifest
from hermes.testing.telegram.html_text import parse_html, units

MARKS = Marks(load_manifest("hermes.channels.telegram").markup)


@pytest.mark.req("W19")
@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("**b** *i* ~~s~~ `x<1`", "<b>b</b> <i>i</i> <s>s</s> <code>x&lt;1</code>"),
        ("***both***", "<b><i>both</i></b>"),
        ("**a `c` b**", "<b>a</b> <code>c</code> <b>b</b>"),
        ("# Title **x**", "<b>Title x</b>"),
        ("[w](https://e.org/?a=1&b=2)", '<a href="https://e.org/?a=1&amp;b=2">w</a>'),
        ("[**w**](https://e.org)", '<a href="https://e.org"><b>w</b></a>'),
        ("[mail](mailto:a@e.org)", "mail (a@e.org)"),
        ("![cat](https://e.org/c.png)", '<a href="https://e.org/c.png">cat</a>'),
        ("one\ntwo\n\nthree", "one\ntwo\n\nthree"),
        ("- a\n- b\n  - c", "• a\n• b\n   • c"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("> q\n> > r", "<blockquote>q\n\nr</blockquote>"),
        (
            "```python\nx = 1 < 2\n```",
            '<pre><code class="language-python">x = 1 &lt; 2</code></pre>',
        ),
        ("```\nx\n```", "<pre>x</pre>"),
        ("---", "──────────"),
        ("| a | b |\n|---|---|\n| 1 | 22 |", "<pre>a  b\n-  --\n1  22</pre>"),
    ],
)
def test_markdown_is_written_as_telegrams_html(text: str, markup: str) -> None:
    assert MARKS.write(parse(text)) == markup
    assert parse_html(markup) == visible(markup)


@pytest.mark.req("W19")
def test_no_mark_stands_around_code() -> None:
    document = (
        Heading(1, (Text("a"), Code("b"))),
        Paragraph((Link("https://e.org", (Emphasis((Strong((Code("c"),)),)), Text("d"))),)),
    )

    assert (
        MARKS.write(document)
        == '<b>a</b><code>b</code>\n\n<code>c</code><a href="https://e.org">d</a>'
    )


@pytest.mark.req("W19")
def test_the_size_is_counted_in_utf16_units_of_what_people_read() -> None:
    assert [
        measure(parse(text), MARKS) for text in ("**ab**", "😀", "[x](https://e.org)", "a&b")
    ] == [
        2,
        2,
        1,
        3,
    ]


_AWKWARD = st.sampled_from(
    [
        *("*", "**", "_", "`", "```", "~~", "[", "](", ")", "<", ">", "&", "&amp;", "<b>", "</b>"),
        *("\n", "\n\n", "> ", "- ", "1. ", "# ", "| a | b |\n|-|-|\n|1|2|\n", "    ", "\\", "\t"),
        *(
            "שלום",
            "مرحبا",
            "\u202e",
            "👩‍👩‍👧‍👦",
            "🏳️‍🌈",
            "e\u0301",
            "https://e.org/<&>",
            "\x00",
            "\u2028",
        ),
        *("word", "x" * 300, "mailto:a@b.c", "![", '"', "'", "<script>", "---\n", "```py\n"),
    ]
)
_TEXTS = st.lists(_AWKWARD | st.text(max_size=6), max_size=25).map("".join)


@pytest.mark.req("W19")
@settings(max_examples=300, deadline=None)
@given(_TEXTS)
@example(">     *")
@example("> - `a`\n>   > b")
@example("- ```\n  x\n  ```\n- > q\n  > > r")
def test_whatever_is_written_telegram_takes_it_and_shows_what_was_counted(text: str) -> None:
    markup = MARKS.write(parse(text))

    shown = parse_html(markup)
    assert shown == visible(markup)
    assert units(shown) == utf16_length(shown) == measure(parse(text), MARKS)
