"""Formatted text as the HTML that Matrix clients let through."""

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.channels.matrix.format import is_plain, render
from hermes.message.markup.model import (
    Break,
    Code,
    CodeBlock,
    Emphasis,
    Heading,
    Items,
    Link,
    Paragraph,
    Picture,
    Quote,
    Rule,
    Strike,
    Strong,
    Table,
    Text,
)
from hermes.message.markup.parse import parse
from hermes.testing.matrix.rules import check_html


def paragraph(*spans: object) -> Paragraph:
    return Paragraph(tuple(spans))  # type: ignore[arg-type]


@pytest.mark.req("W19")
@pytest.mark.parametrize(
    ("document", "html"),
    [
        ((paragraph(Text("a < b & c")),), "a &lt; b &amp; c"),
        ((paragraph(Text("a"), Break(), Text("b")),), "a<br>b"),
        ((paragraph(Text("a")), paragraph(Text("b"))), "<p>a</p><p>b</p>"),
        ((Heading(2, (Text("T"),)),), "<h2>T</h2>"),
        (
            (paragraph(Strong((Emphasis((Text("x"),)), Strike((Text("y"),)))),),),
            "<strong><em>x</em><del>y</del></strong>",
        ),
        ((paragraph(Code("<b>")),), "<code>&lt;b&gt;</code>"),
        (
            (CodeBlock("if a < b:", "py\" onclick='x'"),),
            '<pre><code class="language-pyonclickx">if a &lt; b:\n</code></pre>',
        ),
        (
            (paragraph(Link('https://e.org/?a="b"&c', (Text("l"),))),),
            '<a href="https://e.org/?a=&quot;b&quot;&amp;c">l</a>',
        ),
        (
            (paragraph(Picture("https://e.org/c.png", "")),),
            '<a href="https://e.org/c.png">https://e.org/c.png</a>',
        ),
        ((Quote((paragraph(Text("q")),)),), "<blockquote><p>q</p></blockquote>"),
        (
            (Items(((paragraph(Text("a")), CodeBlock("x")), (paragraph(Text("b")),))),),
            "<ul><li>a<pre><code>x\n</code></pre></li><li>b</li></ul>",
        ),
        ((Items(((paragraph(Text("a")),),), 3),), '<ol start="3"><li>a</li></ol>'),
        ((Items(((paragraph(Text("a")),),), 1),), "<ol><li>a</li></ol>"),
        (
            (Table(((Text("h"),),), (((Text("c"),),),)),),
            "<table><thead><tr><th>h</th></tr></thead><tbody><tr><td>c</td></tr></tbody></table>",
        ),
        ((Rule(),), "<hr>"),
        ((), ""),
    ],
)  # fmt: skip
@pytest.mark.quality("markup from an allow-list")
def test_every_kind_of_text_has_its_tags(document: tuple[object, ...], html: str) -> None:
    assert render(document) == html  # type: ignore[arg-type]


@pytest.mark.req("W19")
def test_html_is_sent_only_where_it_says_more() -> None:
    assert is_plain((paragraph(Text("a"), Break(), Text("b")), paragraph(Text("c"))))
    assert not is_plain((paragraph(Text("a"), Code("b")),))
    assert not is_plain((Heading(1, (Text("a"),)),))


AWKWARD = st.lists(
    st.sampled_from(
        ["**", "*", "_", "`", "```", "~~", "# ", "> ", "- ", "1. ", "| a | b |\n|---|---|\n", "[x](", "](javascript:alert(1))", "https://e.org/", "<script>", "<&>", "&amp;", "\n", "\n\n", "\\", "![", "👩‍👩‍👧", "שלום", "漢字", "x" * 500, "\u202e", "\x07", " ", "<mx-reply>", '"', "'"]
    )
    | st.text(max_size=6),
    max_size=25,
).map("".join)  # fmt: skip


@pytest.mark.req("W19")
@settings(max_examples=300, deadline=None)
@given(AWKWARD)
def test_whatever_is_written_no_other_tag_comes_out(text: str) -> None:
    document = parse(text)
    html = render(document)

    check_html(html)
    assert _words(html) == _words_of(document)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def _words(html: str) -> str:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return "".join("".join(reader.words).split())


def _words_of(value: object) -> str:
    """Return every word of a document, whatever it stands in."""
    if isinstance(value, tuple):
        return "".join(_words_of(one) for one in value)
    if isinstance(value, Text | Code | CodeBlock):
        return "".join(value.text.split())
    if isinstance(value, Picture):
        return "".join((value.words or value.url).split())
    if isinstance(value, Table):
        return _words_of(value.head) + _words_of(value.rows)
    if isinstance(value, Items):
        return _words_of(value.items)
    if isinstance(value, Quote):
        return _words_of(value.blocks)
    return _words_of(getattr(value, "spans", ()))
